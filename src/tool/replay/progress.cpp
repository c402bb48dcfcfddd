// SPDX-License-Identifier: BSL-1.0
//
// One line that is overwritten, four times per second.

#include <tool/replay/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>

namespace tool::replay {

namespace {

using namespace std::chrono_literals;

constexpr auto pause = 250ms;
constexpr std::size_t bar_width = 40;

} // namespace

void progress::begin(std::string_view what, std::uint64_t total) {
    what_ = what;
    total_ = total;
    next_ = clock::now() + pause;
}

void progress::advance(std::uint64_t done) {
    if (!is_wanted_ || total_ == 0 || clock::now() < next_)
        return;
    next_ = clock::now() + pause;
    const auto share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    std::string bar(static_cast<std::size_t>(share * bar_width), '#');
    bar.resize(bar_width, '.');
    std::cerr << '\r' << what_ << " [" << bar << "] " << static_cast<int>(share * 100) << " % "
              << std::flush;
    is_shown_ = true;
}

void progress::end() {
    if (is_shown_)
        std::cerr << '\r' << std::string(what_.size() + bar_width + 10, ' ') << '\r' << std::flush;
    is_shown_ = false;
}

} // namespace tool::replay

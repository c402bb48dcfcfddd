// SPDX-License-Identifier: BSL-1.0
//
// Times between a microsecond and years.

#include <tool/frame/format.hpp>
#include <tool/frame/time_text.hpp>

#include <array>
#include <cmath>
#include <cstdio>

namespace tool {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

[[nodiscard]] std::string count_text(const char* form, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), form, value); // NOLINT(*-vararg)
    return text.data();
}

} // namespace

std::string time_text(microseconds time) {
    if (time < 1ms)
        return std::to_string(time.count()) + " us";
    if (time < 1s)
        return count_text("%.3g ms", static_cast<double>(time.count()) / 1e3);
    if (time < 60s)
        return count_text("%.3f s", std::ceil(static_cast<double>(time.count()) / 1e3) / 1e3);
    return duration(std::chrono::ceil<std::chrono::seconds>(time));
}

std::string instant_text(std::chrono::sys_time<microseconds> at) {
    const auto second = std::chrono::floor<std::chrono::seconds>(at);
    const auto part = std::chrono::floor<std::chrono::milliseconds>(at - second);
    return utc(second) + count_text(".%03.0f UTC", static_cast<double>(part.count()));
}

} // namespace tool

// SPDX-License-Identifier: BSL-1.0
//
// Servers write a line at the end of a request, with the time of its start: so logs are nearly in
// order, and a limiter that read them in that order would see its clock step back.

#include "replay/history.hpp"

#include "replay/access_log.hpp"
#include "replay/format.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace replay {

namespace {

/// After this many bytes without a valid line, the rest is not tried.
constexpr std::uint64_t patience = 1 << 20;

constexpr std::size_t text_kept = 200;

class reader {
  public:
    void take(const text_line& line) {
        ++lines_;
        bytes_ += line.text.size() + 1;
        has_zero_ = has_zero_ || line.text.find('\0') != std::string_view::npos;
        const auto [read, problem] =
            line.is_cut ? log_reading{{}, "is longer than 65,536 bytes"} : read_log_line(line.text);
        if (read)
            result_.requests.push_back({read->time, client(read->client)});
        else
            reject(line.text, problem);
    }

    [[nodiscard]] bool is_hopeless() const noexcept {
        return result_.requests.empty() && bytes_ >= patience;
    }

    /// Returns why nothing could be read.
    [[nodiscard]] std::string problem() const {
        if (lines_ == 0)
            return "is empty";
        if (has_zero_)
            return "is binary, not an access log";
        return "is not an access log in the common or combined format: line 1 " +
               std::string{result_.first_unreadable.front().problem};
    }

    [[nodiscard]] history& result() noexcept { return result_; }
    [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

  private:
    void reject(std::string_view text, std::string_view problem) {
        ++result_.unreadable;
        if (result_.first_unreadable.size() < history::unreadable_kept)
            result_.first_unreadable.push_back(
                {lines_, escaped(text.substr(0, text_kept)), problem});
    }

    std::uint32_t client(std::string_view name) {
        if (const auto found = places_.find(name); found != places_.end())
            return found->second;
        const auto place = static_cast<std::uint32_t>(result_.clients.size());
        places_.emplace(result_.clients.emplace_back(name), place);
        return place;
    }

    history result_;
    std::unordered_map<std::string_view, std::uint32_t> places_; // views of result_.clients
    std::size_t lines_ = 0;
    std::uint64_t bytes_ = 0;
    bool has_zero_ = false;
};

} // namespace

history load(const std::string& path, progress& shown) {
    line_source source{path};
    reader lines;
    shown.begin("reading", source.size());
    while (const auto line = source.next()) {
        lines.take(*line);
        if (lines.is_hopeless())
            break;
        if (lines.lines() % 1024 == 0)
            shown.advance(source.position());
    }
    shown.end();
    if (lines.result().requests.empty())
        throw input_error{escaped(path) + ' ' + lines.problem()};
    auto result = std::move(lines.result());
    result.out_of_order = put_in_order(result.requests);
    return result;
}

std::size_t put_in_order(std::vector<request>& requests) {
    std::size_t count = 0;
    auto latest = std::chrono::sys_seconds::min();
    for (const auto& r : requests) {
        count += r.time < latest ? 1U : 0U;
        latest = std::max(latest, r.time);
    }
    if (count == 0)
        return 0;
    // Sorts as std::stable_sort does, which clang does not compile from GCC 12's library without a
    // warning.
    std::vector<std::size_t> places(requests.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t i) { return std::pair{requests[i].time, i}; });
    std::vector<request> sorted;
    sorted.reserve(requests.size());
    for (const auto place : places)
        sorted.push_back(requests[place]);
    requests = std::move(sorted);
    return count;
}

} // namespace replay

// SPDX-License-Identifier: BSL-1.0
//
// A log in memory: the client and time of each request, ordered by time, 16 bytes per request.

#pragma once

#include "replay/lines.hpp"
#include "replay/progress.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace replay {

struct request {
    std::chrono::sys_seconds time;
    std::uint32_t client; ///< its index in `history::clients`

    friend bool operator==(const request&, const request&) = default;
};

struct unreadable_line {
    std::size_t number; ///< the first line is 1
    std::string text;   ///< its beginning, escaped
    std::string_view problem;
};

struct history {
    static constexpr std::size_t unreadable_kept = 5;

    std::deque<std::string> clients; ///< each once, in the order of appearance
    std::vector<request> requests;
    std::size_t unreadable = 0;
    std::vector<unreadable_line> first_unreadable; ///< at most `unreadable_kept`
    /// Requests that came after a later one in the log.
    std::size_t out_of_order = 0;
};

/// @throws input_error, also if no line could be parsed.
[[nodiscard]] history load(const std::string& path, progress& shown);

/// Sorts the requests by time; those of one second keep their order. Returns how many came after a
/// later one.
std::size_t put_in_order(std::vector<request>& requests);

} // namespace replay

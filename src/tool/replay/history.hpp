// SPDX-License-Identifier: BSL-1.0
//
// A log in memory: the client and time of each request, ordered by time, 16 bytes per request.

#pragma once

#include <tool/replay/json_log.hpp>
#include <tool/replay/limits.hpp>
#include <tool/replay/lines.hpp>
#include <tool/replay/progress.hpp>

#include <colimit/decision.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tool::replay {

struct request {
    colimit::time_point time;
    std::uint32_t client;   ///< its index in `history::clients`
    std::uint32_t call = 0; ///< with keys: its index in `history::calls`

    friend bool operator==(const request&, const request&) = default;
};

struct unreadable_line {
    std::size_t number; ///< the first line is 1
    std::string text;   ///< its beginning, escaped
    std::string problem;
};

struct history {
    static constexpr std::size_t unreadable_kept = 5;

    std::deque<std::string> clients; ///< each once, in the order of appearance
    std::deque<call> calls;          ///< with keys: each once
    std::vector<request> requests;
    std::size_t unreadable = 0;
    std::vector<unreadable_line> first_unreadable; ///< at most `unreadable_kept`
    /// Requests that came after a later one in the log.
    std::size_t out_of_order = 0;
};

/// Reads a log.
/// @param json the fields of a log of JSON lines; nullopt for an access log
/// @throws input_error, also if no line could be parsed.
[[nodiscard]] history load(const std::string& path, const limits& tried,
                           const std::optional<json_fields>& json, progress& shown);

/// Sorts the requests by time; those of one time keep their order. Returns how many came after a
/// later one.
std::size_t put_in_order(std::vector<request>& requests);

} // namespace tool::replay

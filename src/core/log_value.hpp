// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a sliding log in Redis: a head, events, and room for further ones, which is all
// bytes 255. All numbers are little-endian.
//
//     head   expires:f64 'l':u8 longest:u56 before:u40 first:u24
//     event  time:u56 sum:u40
//
// `expires` is a time before which the key does not expire, 0 if there is none. `longest` is the
// longest period with which an event was recorded, for which events are kept. Events before the
// one with index `first` are forgotten; they weigh `before`. A sum is the weight of all events up
// to its own, as in event_log.hpp. Room has the latest of all times, so times never decrease.
//
// It is one string because a sorted set took three times the work of the server in batches of one
// `allow` per key, and up to eight times the memory. It is trimmed only when something is recorded,
// so a clock that was set back finds the same events; the differential compares them one by one.

#pragma once

#include <base/bytes.hpp>
#include <core/event_log.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::core {

inline constexpr std::size_t log_head_bytes = 24;
inline constexpr std::size_t logged_event_bytes = 12;
inline constexpr std::int64_t max_log_sum = (std::int64_t{1} << 40) - 1;

struct log_head {
    double expires = 0;
    std::int64_t longest = 0;
    std::int64_t before = 0;
    std::int64_t first = 0;
};

/// Decodes the head of a value whose size is that of a log; nullopt if it is not one.
[[nodiscard]] std::optional<log_head> read_log_head(std::string_view bytes) noexcept;
/// Returns how many events a value of this size has, including room; 0 if it is not a log.
[[nodiscard]] std::int64_t events_in(std::size_t size) noexcept;
/// @param at the beginning of the event
[[nodiscard]] logged_event read_event(const char* at) noexcept;

/// Returns the events of a value that the last one that was recorded has not made forgotten, with
/// sums from the first of them on; none if it is not a log.
[[nodiscard]] std::vector<logged_event> kept_events(std::string_view value);

void append_log_head(std::string& out, const log_head& head);
void append_event(std::string& out, logged_event e);
void append_room(std::string& out, std::int64_t events);

} // namespace colimit::core

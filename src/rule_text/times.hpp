// SPDX-License-Identifier: BSL-1.0
//
// Periods, durations and offsets from UTC as text, in both directions, for rule texts and JSON.

#pragma once

#include <colimit/rule.hpp>
#include <rule_text/cursor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::text {

/// The period of a rule: `s`, `10 seconds`, `month`.
struct period {
    std::size_t at;                    ///< its position
    std::optional<std::int64_t> us;    ///< none for week, month and year
    std::optional<calendar_unit> unit; ///< for one day, week, month or year
};

[[nodiscard]] period read_period(cursor& text);

/// Parses the optional offset after the word utc, which is at `start`: nothing, `+8`, `-05:30`.
[[nodiscard]] std::chrono::minutes read_utc_offset(cursor& text, std::size_t start);

/// Parses a complete text, `5s`, `500 ms`, `minute`; returns microseconds.
/// @throws colimit::error errc::invalid_policy
[[nodiscard]] std::int64_t parse_duration(std::string_view text);

/// Parses a complete text: `+05:30`, `-3`, `utc+8`, `utc`.
/// @throws colimit::error errc::invalid_policy
[[nodiscard]] std::chrono::minutes parse_utc_offset(std::string_view text);

/// Returns `5s`, `90s` or `1m`: a whole number of the largest possible unit.
[[nodiscard]] std::string duration_text(std::int64_t us);

/// Returns `utc`, `utc+8` or `utc-3:30`.
[[nodiscard]] std::string utc_offset_text(std::chrono::minutes offset);

} // namespace colimit::text

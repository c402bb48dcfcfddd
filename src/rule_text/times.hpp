// SPDX-License-Identifier: BSL-1.0
//
// Periods, durations and offsets from UTC as text, in both directions, for rule texts and JSON.

#ifndef COLIMIT_RULE_TEXT_TIMES_HPP
#define COLIMIT_RULE_TEXT_TIMES_HPP

#include <colimit/rule.hpp>
#include <rule_text/cursor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::text {

/// What a rule's limit is per: `s`, `10 seconds`, `month`.
struct period {
    std::size_t at;                    ///< where it stands
    std::optional<std::int64_t> us;    ///< none for week, month and year
    std::optional<calendar_unit> unit; ///< of day, week, month and year, if there is one of it
};

[[nodiscard]] period read_period(cursor& text);

/// What may follow the word utc, which stands at `start`: nothing, `+8`, `-05:30`.
[[nodiscard]] std::chrono::minutes read_utc_offset(cursor& text, std::size_t start);

/// A whole text: `5s`, `500 ms`, `minute`; in microseconds.
/// @throws colimit::error errc::invalid_policy
[[nodiscard]] std::int64_t parse_duration(std::string_view text);

/// A whole text: `+05:30`, `-3`, `utc+8`, `utc`.
/// @throws colimit::error errc::invalid_policy
[[nodiscard]] std::chrono::minutes parse_utc_offset(std::string_view text);

/// `5s`, `90s`, `1m`: in the largest unit that counts it whole.
[[nodiscard]] std::string duration_text(std::int64_t us);

/// `utc`, `utc+8`, `utc-3:30`.
[[nodiscard]] std::string utc_offset_text(std::chrono::minutes offset);

} // namespace colimit::text

#endif

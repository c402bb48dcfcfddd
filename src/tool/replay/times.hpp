// SPDX-License-Identifier: BSL-1.0
//
// Times in logs. They are parsed strictly; a time without a zone is in UTC.

#pragma once

#include <colimit/decision.hpp>

#include <string_view>

namespace tool::replay {

/// A time, or the reason why there is none.
struct time_reading {
    colimit::time_point time;
    std::string_view problem;
};

/// Parses `17/May/2015:10:05:03 +0200`.
[[nodiscard]] time_reading read_log_time(std::string_view text) noexcept;

/// Parses a time in one of the forms that programs write to JSON logs:
///
///     2015-05-17T10:05:03.25Z, 2015-05-17 10:05:03+02:00    ISO 8601
///     17/May/2015:10:05:03 +0200                            as in access logs
///     1431857103.25, 1.43185710325e9, 1431857103250         seconds since 1970, or milliseconds,
///                                                           micro- or nanoseconds, by size
[[nodiscard]] time_reading read_any_time(std::string_view text) noexcept;

} // namespace tool::replay

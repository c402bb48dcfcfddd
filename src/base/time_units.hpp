// SPDX-License-Identifier: BSL-1.0
//
// The units of time of rule texts: to_string writes the first name, parse_rules reads all of them.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace colimit {

struct time_unit {
    std::string_view name;
    /// Longer names; each may end with an `s`.
    std::string_view abbreviation;
    std::string_view word;
    std::int64_t microseconds;
};

/// From the longest to the shortest, so that the first one that fits gives the shortest text.
inline constexpr std::array<time_unit, 6> time_units{{{"d", "day", "day", 86'400'000'000},
                                                      {"h", "hr", "hour", 3'600'000'000},
                                                      {"m", "min", "minute", 60'000'000},
                                                      {"s", "sec", "second", 1'000'000},
                                                      {"ms", "msec", "millisecond", 1'000},
                                                      {"us", "usec", "microsecond", 1}}};

} // namespace colimit

// SPDX-License-Identifier: BSL-1.0
//
// Calendar windows: where a day, an ISO week, a month or a year ends. Days are counted from
// 1970-01-01; the conversions are those of Howard Hinnant, "chrono-Compatible Low-Level Date
// Algorithms", in years that begin in March so that a leap day comes last.

#ifndef COLIMIT_CORE_CIVIL_HPP
#define COLIMIT_CORE_CIVIL_HPP

#include <colimit/rule.hpp>
#include <core/integers.hpp>

#include <cstdint>

namespace colimit::core {

inline constexpr std::int64_t microseconds_per_day = 86'400'000'000;

struct year_month {
    std::int64_t year;
    std::int64_t month; ///< 1 to 12
};

[[nodiscard]] constexpr year_month month_of(std::int64_t days) noexcept {
    const auto z = days + 719'468; // since 0000-03-01
    const auto era = floor_div(z, 146'097);
    const auto day = z - era * 146'097;
    const auto year = (day - day / 1'460 + day / 36'524 - day / 146'096) / 365;
    const auto day_of_year = day - (365 * year + year / 4 - year / 100);
    const auto march_month = (5 * day_of_year + 2) / 153;
    const auto month = march_month < 10 ? march_month + 3 : march_month - 9;
    return {year + era * 400 + (month <= 2 ? 1 : 0), month};
}

/// The days before the first of a month; month 13 is the next January.
[[nodiscard]] constexpr std::int64_t days_before(year_month m) noexcept {
    const auto year = m.year + (m.month > 12 ? 1 : 0) - (m.month % 12 == 1 || m.month == 2 ? 1 : 0);
    const auto month = m.month > 12 ? m.month - 12 : m.month;
    const auto era = floor_div(year, 400);
    const auto year_of_era = year - era * 400;
    const auto day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;
    const auto day = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146'097 + day - 719'468;
}

/// The end of the window that contains `now`, `offset` microseconds ahead of UTC.
[[nodiscard]] constexpr std::int64_t calendar_end(calendar_unit unit, std::int64_t offset,
                                                  std::int64_t now) noexcept {
    const auto days = floor_div(now + offset, microseconds_per_day);
    auto end = days + 1;
    if (unit == calendar_unit::week) {
        end = days + 7 - ((days + 3) - floor_div(days + 3, 7) * 7); // 1970-01-01 was a Thursday
    } else if (unit == calendar_unit::month) {
        const auto m = month_of(days);
        end = days_before({m.year, m.month + 1});
    } else if (unit == calendar_unit::year) {
        end = days_before({month_of(days).year + 1, 1});
    }
    return end * microseconds_per_day - offset;
}

} // namespace colimit::core

#endif

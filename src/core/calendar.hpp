// SPDX-License-Identifier: BSL-1.0
//
// Calendar windows: where a day, an ISO week, a month or a year ends.

#ifndef COLIMIT_CORE_CALENDAR_HPP
#define COLIMIT_CORE_CALENDAR_HPP

#include <colimit/rule.hpp>

#include <boost/assert.hpp>

#include <chrono>
#include <cstdint>

namespace colimit::core {

/// The end of the window that contains `now`, `offset` microseconds ahead of UTC. Of times from
/// 1970 to 2^53 microseconds after it, and of any offset that a rule may have.
[[nodiscard]] constexpr std::int64_t calendar_end(calendar_unit unit, std::int64_t offset,
                                                  std::int64_t now) noexcept {
    BOOST_ASSERT(now >= 0);
    using namespace std::chrono;
    const auto today = floor<days>(sys_time<microseconds>{microseconds{now + offset}});
    auto end = today + days{1};
    if (unit == calendar_unit::week) {
        end = today + days{7} - (weekday{today} - Monday);
    } else if (unit != calendar_unit::day) {
        const auto date = year_month_day{today};
        end = unit == calendar_unit::month ? (date.year() / date.month() + months{1}) / 1
                                           : (date.year() + years{1}) / January / 1;
    }
    return microseconds{end.time_since_epoch()}.count() - offset;
}

} // namespace colimit::core

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Calendar windows against days that are counted one by one, over every day there is.

#include <colimit/limits.hpp>
#include <core/kinds/windows.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(calendars)

namespace {

using namespace colimit;
using namespace std::chrono;

constexpr std::int64_t day_us = 86'400'000'000;

[[nodiscard]] std::int64_t us_of(sys_days d) {
    return d.time_since_epoch().count() * day_us;
}

[[nodiscard]] constexpr int days_in(int month, int year) {
    const auto is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    constexpr int usual[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return usual[month - 1] + (month == 2 && is_leap ? 1 : 0);
}

/// The days since 1970 on which months begin, or years: from 1969 on, to after 2^53 microseconds.
[[nodiscard]] std::vector<std::int64_t> count_first_days(bool of_months) {
    std::vector<std::int64_t> days;
    auto first = std::int64_t{-365};
    for (auto year = 1969; year < 2258; ++year)
        for (auto month = 1; month <= 12; first += days_in(month++, year))
            if (of_months || month == 1)
                days.push_back(first);
    return days;
}

/// Where the unit that holds this day ends.
[[nodiscard]] std::int64_t end_by_counting(calendar_unit unit, sys_days today) {
    static const auto months = count_first_days(true);
    static const auto years = count_first_days(false);
    const auto day = std::int64_t{today.time_since_epoch().count()};
    if (unit == calendar_unit::day)
        return (day + 1) * day_us;
    if (unit == calendar_unit::week) // 1969-12-29 was a Monday
        return ((day + 3) / 7 * 7 + 4) * day_us;
    return *std::ranges::upper_bound(unit == calendar_unit::month ? months : years, day) * day_us;
}

constexpr calendar_unit every_unit[] = {calendar_unit::day, calendar_unit::week,
                                        calendar_unit::month, calendar_unit::year};

[[nodiscard]] std::int64_t at(int y, unsigned m, unsigned d, std::int64_t us = 0) {
    return us_of(sys_days{year{y} / month{m} / day{d}}) + us;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_day_from_1970_to_2255_ends_where_counting_says) {
    auto wrong = 0;
    for (auto d = sys_days{}; us_of(d) <= limits::max_exact_integer; d += days{1})
        for (const auto unit : every_unit)
            for (const auto into : {std::int64_t{0}, std::int64_t{1}, day_us - 1})
                wrong +=
                    core::kinds::calendar_end(unit, 0, us_of(d) + into) == end_by_counting(unit, d)
                        ? 0
                        : 1;
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(an_offset_moves_the_days_against_utc) {
    for (const auto minutes : {1, 330, 840, 1'080, -1, -210, -720, -1'080}) {
        const auto offset = minutes * std::int64_t{60'000'000};
        auto wrong = 0;
        for (auto d = sys_days{days{2}}; us_of(d) <= limits::max_exact_integer; d += days{13})
            for (const auto unit : every_unit) {
                const auto first = us_of(d) - offset; // midnight there
                wrong += core::kinds::calendar_end(unit, offset, first) + offset ==
                         end_by_counting(unit, d);
                wrong += core::kinds::calendar_end(unit, offset, first - 1) + offset ==
                         end_by_counting(unit, d - days{1});
                wrong -= 2;
            }
        BOOST_TEST(wrong == 0);
    }
}

BOOST_AUTO_TEST_CASE(before_1970_is_a_day_too_where_it_is_still_yesterday) {
    // At 1970-01-01 00:00 UTC it is the last day of 1969 in New York.
    const auto offset = std::int64_t{-300} * 60'000'000;
    for (const auto unit : {calendar_unit::day, calendar_unit::month, calendar_unit::year})
        BOOST_TEST(core::kinds::calendar_end(unit, offset, 0) == -offset);
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::week, offset, 0) == 4 * day_us - offset);
}

BOOST_AUTO_TEST_CASE(leap_days_come_every_four_years_but_not_in_2100) {
    const auto end_of_february = [](int y) {
        return core::kinds::calendar_end(calendar_unit::month, 0, at(y, 2, 28, day_us - 1));
    };
    BOOST_TEST(end_of_february(2023) == at(2023, 3, 1));
    BOOST_TEST(end_of_february(2024) - at(2024, 2, 28) == 2 * day_us);
    BOOST_TEST(end_of_february(2000) - at(2000, 2, 28) == 2 * day_us);
    BOOST_TEST(end_of_february(2100) == at(2100, 3, 1));
    BOOST_TEST(end_of_february(2100) - at(2100, 2, 28) == day_us);
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::year, 0, at(2100, 1, 1)) - at(2100, 1, 1) ==
               365 * day_us);
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::year, 0, at(2096, 1, 1)) - at(2096, 1, 1) ==
               366 * day_us);
}

BOOST_AUTO_TEST_CASE(weeks_begin_on_monday_also_around_new_year) {
    // 2024-12-30 was the Monday of the first ISO week of 2025.
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::week, 0, at(2024, 12, 29, day_us - 1)) ==
               at(2024, 12, 30));
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::week, 0, at(2024, 12, 30)) ==
               at(2025, 1, 6));
    BOOST_TEST(core::kinds::calendar_end(calendar_unit::week, 0, 0) == 4 * day_us); // a Thursday
}

BOOST_AUTO_TEST_SUITE_END()

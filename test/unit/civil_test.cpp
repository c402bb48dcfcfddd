// SPDX-License-Identifier: BSL-1.0
//
// Calendar windows against the calendar of the standard library, over every possible day.

#include <boost/test/unit_test.hpp>

#include <colimit/limits.hpp>
#include <core/civil.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(civil)

namespace {

using namespace colimit;
using namespace std::chrono;

constexpr auto day_us = core::microseconds_per_day;

[[nodiscard]] std::int64_t us_of(sys_days d) {
    return d.time_since_epoch().count() * day_us;
}

/// By the calendar of the library: where the unit that holds this day ends.
[[nodiscard]] std::int64_t end_by_chrono(calendar_unit unit, sys_days today) {
    const auto date = year_month_day{today};
    switch (unit) {
    case calendar_unit::day:
        return us_of(today + days{1});
    case calendar_unit::week:
        return us_of(today + days{7} - (weekday{today} - Monday));
    case calendar_unit::month:
        return us_of(sys_days{(date.year() / date.month() + months{1}) / 1});
    case calendar_unit::year:
        break;
    }
    return us_of(sys_days{(date.year() + years{1}) / January / 1});
}

constexpr calendar_unit every_unit[] = {calendar_unit::day, calendar_unit::week,
                                        calendar_unit::month, calendar_unit::year};

[[nodiscard]] std::int64_t at(int y, unsigned m, unsigned d, std::int64_t us = 0) {
    return us_of(sys_days{year{y} / month{m} / day{d}}) + us;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_day_from_1970_to_2112_ends_where_chrono_says) {
    auto wrong = 0;
    for (auto d = sys_days{}; us_of(d) <= limits::max_time; d += days{1})
        for (const auto unit : every_unit)
            for (const auto into : {std::int64_t{0}, std::int64_t{1}, day_us - 1})
                wrong +=
                    core::calendar_end(unit, 0, us_of(d) + into) == end_by_chrono(unit, d) ? 0 : 1;
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(every_day_has_its_month_and_every_month_its_days) {
    auto wrong = 0;
    for (auto d = sys_days{year{1969} / December / 1}; d < sys_days{year{2114} / January / 1};
         d += days{1}) {
        const auto n = d.time_since_epoch().count();
        const auto date = year_month_day{d};
        const auto m = core::month_of(n);
        wrong += m.year == int{date.year()} && m.month == unsigned{date.month()} ? 0 : 1;
        const auto before = core::days_before(m);
        wrong += n - before == std::int64_t{unsigned{date.day()}} - 1 ? 0 : 1;
    }
    BOOST_TEST(wrong == 0);
    BOOST_TEST(core::days_before({2023, 13}) == core::days_before({2024, 1}));
}

BOOST_AUTO_TEST_CASE(an_offset_moves_the_days_against_utc) {
    for (const auto minutes : {1, 330, 840, 1'080, -1, -210, -720, -1'080}) {
        const auto offset = minutes * std::int64_t{60'000'000};
        auto wrong = 0;
        for (auto d = sys_days{days{2}}; us_of(d) <= limits::max_time; d += days{13})
            for (const auto unit : every_unit) {
                const auto first = us_of(d) - offset; // midnight there
                wrong += core::calendar_end(unit, offset, first) + offset == end_by_chrono(unit, d);
                wrong += core::calendar_end(unit, offset, first - 1) + offset ==
                         end_by_chrono(unit, d - days{1});
                wrong -= 2;
            }
        BOOST_TEST(wrong == 0);
    }
}

BOOST_AUTO_TEST_CASE(before_1970_is_a_day_too_where_it_is_still_yesterday) {
    // At 1970-01-01 00:00 UTC it is the last day of 1969 in New York.
    const auto offset = std::int64_t{-300} * 60'000'000;
    for (const auto unit : {calendar_unit::day, calendar_unit::month, calendar_unit::year})
        BOOST_TEST(core::calendar_end(unit, offset, 0) == -offset);
    BOOST_TEST(core::calendar_end(calendar_unit::week, offset, 0) == 4 * day_us - offset);
}

BOOST_AUTO_TEST_CASE(leap_days_come_every_four_years_but_not_in_2100) {
    const auto end_of_february = [](int y) {
        return core::calendar_end(calendar_unit::month, 0, at(y, 2, 28, day_us - 1));
    };
    BOOST_TEST(end_of_february(2023) == at(2023, 3, 1));
    BOOST_TEST(end_of_february(2024) - at(2024, 2, 28) == 2 * day_us);
    BOOST_TEST(end_of_february(2000) - at(2000, 2, 28) == 2 * day_us);
    BOOST_TEST(end_of_february(2100) == at(2100, 3, 1));
    BOOST_TEST(end_of_february(2100) - at(2100, 2, 28) == day_us);
    BOOST_TEST(core::calendar_end(calendar_unit::year, 0, at(2100, 1, 1)) - at(2100, 1, 1) ==
               365 * day_us);
    BOOST_TEST(core::calendar_end(calendar_unit::year, 0, at(2096, 1, 1)) - at(2096, 1, 1) ==
               366 * day_us);
}

BOOST_AUTO_TEST_CASE(weeks_begin_on_monday_also_around_new_year) {
    // 2024-12-30 was the Monday of the first ISO week of 2025.
    BOOST_TEST(core::calendar_end(calendar_unit::week, 0, at(2024, 12, 29, day_us - 1)) ==
               at(2024, 12, 30));
    BOOST_TEST(core::calendar_end(calendar_unit::week, 0, at(2024, 12, 30)) == at(2025, 1, 6));
    BOOST_TEST(core::calendar_end(calendar_unit::week, 0, 0) == 4 * day_us); // a Thursday
}

BOOST_AUTO_TEST_SUITE_END()

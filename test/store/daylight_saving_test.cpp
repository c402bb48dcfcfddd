// SPDX-License-Identifier: BSL-1.0
//
// Calendar rules where daylight saving time begins or ends: a policy of the same name with another
// UTC offset continues with the counts. include/less_common.md says what happens on that day.

#include "stores.hpp"

#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(daylight_saving)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using std::chrono::sys_days;

const policy winter{"daily", calendar(10, calendar_unit::day, 1h)}; // central Europe
const policy summer{"daily", calendar(10, calendar_unit::day, 2h)};

// In 2026 the clocks there go forward on 29 March and back on 25 October, at 1:00 UTC.
constexpr auto spring = time_point{sys_days{2026y / 3 / 29}};
constexpr auto autumn = time_point{sys_days{2026y / 10 / 25}};

BOOST_DATA_TEST_CASE(counts_continue_and_the_day_has_23_or_25_hours, every_store()) {
    auto s = open_store(sample);
    s->allow("spring", winter, {.cost = 4, .now = spring + 30min});
    BOOST_TEST(s->allow("spring", summer, {.now = spring + 1h}).remaining == 5);
    BOOST_TEST(s->peek("spring", summer, {.now = spring + 22h - 1us}).remaining == 5);
    BOOST_TEST(s->peek("spring", summer, {.now = spring + 22h}).remaining == 10);

    s->allow("autumn", summer, {.cost = 4, .now = autumn + 30min});
    BOOST_TEST(s->allow("autumn", winter, {.now = autumn + 1h}).remaining == 5);
    BOOST_TEST(s->peek("autumn", winter, {.now = autumn + 23h - 1us}).remaining == 5);
    BOOST_TEST(s->peek("autumn", winter, {.now = autumn + 23h}).remaining == 10);
}

BOOST_DATA_TEST_CASE(without_a_grant_after_the_change_a_count_may_last_for_the_next_day,
                     every_store()) {
    auto s = open_store(sample);
    // In spring the day ends an hour before the end that was stored.
    for (const auto used : {4, 10}) {
        const auto key = std::to_string(used);
        s->allow(key, winter, {.cost = used, .now = spring + 30min});
        BOOST_TEST(s->peek(key, summer, {.now = spring + 22h}).remaining == 10 - used);
        BOOST_TEST(s->peek(key, summer, {.now = spring + 46h - 1us}).remaining == 10 - used);
        BOOST_TEST(s->peek(key, summer, {.now = spring + 46h}).remaining == 10);
    }
    // In autumn it ends an hour after it.
    s->allow("k", summer, {.cost = 4, .now = autumn + 30min});
    BOOST_TEST(s->peek("k", winter, {.now = autumn + 23h - 1us}).remaining == 6);
    BOOST_TEST(s->peek("k", winter, {.now = autumn + 23h}).remaining == 10);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

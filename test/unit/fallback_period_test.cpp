// SPDX-License-Identifier: BSL-1.0
//
// The period in which the failure mode decides calls: it begins with the first one, and ends only
// when the server decides calls again and the failure mode has decided none for a while.

#include <limiter/redis_reports.hpp>
#include <support/unit_test.hpp>

#include <cstdint>

BOOST_AUTO_TEST_SUITE(fallback_periods)

using namespace colimit;
using detail::fallback_period;

BOOST_AUTO_TEST_CASE(it_begins_once_and_ends_a_while_after_the_last_decision) {
    constexpr auto quiet = fallback_period::quiet_time;
    auto p = fallback_period{};
    p.note_server();
    BOOST_TEST(p.ends_at() == fallback_period::never);
    BOOST_TEST(!p.end(quiet));
    BOOST_TEST(p.begin(100));
    BOOST_TEST(!p.begin(200));
    BOOST_TEST(!p.end(200 + 10 * quiet)); // the server has decided nothing
    p.note_server();
    BOOST_TEST(p.ends_at() == 200 + quiet);
    BOOST_TEST(!p.end(200 + quiet - 1));
    BOOST_TEST(p.end(200 + quiet));
    BOOST_TEST(!p.end(200 + quiet));
    BOOST_TEST(p.begin(300 + quiet));
}

BOOST_AUTO_TEST_CASE(calls_that_fail_between_others_are_one_period) {
    auto p = fallback_period{};
    auto begun = 0;
    for (std::int64_t now = 0; now < 100 * fallback_period::quiet_time; now += 100'000) {
        begun += p.begin(now) ? 1 : 0;
        p.note_server();
        BOOST_TEST(!p.end(now));
    }
    BOOST_TEST(begun == 1);
}

BOOST_AUTO_TEST_CASE(too_many_calls_in_flight_are_not_an_outage) {
    BOOST_TEST(!fallback_period::counts(errc::too_many_in_flight));
    for (const auto why :
         {errc::unavailable, errc::deadline_exceeded, errc::outcome_unknown, errc::server_error})
        BOOST_TEST(fallback_period::counts(why));
}

BOOST_AUTO_TEST_SUITE_END()

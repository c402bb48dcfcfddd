// SPDX-License-Identifier: BSL-1.0
//
// When a connection counts as lost, and when it is checked.

#include <redis/connection/liveness.hpp>
#include <support/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(connections_that_live)

namespace {

using colimit::redis::liveness;

constexpr auto settings = colimit::redis::liveness_settings{
    .silence_limit = 2'000'000, .doubt_limit = 300'000, .ping_interval = 500'000};

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_was_heard_shortly_before_has_the_whole_silence_limit) {
    auto l = liveness{settings};
    l.on_data(1'000'000);
    l.await_reply(1'000'000 + liveness::doubtful_idleness - 1);
    BOOST_TEST(l.silence_ends() == 1'000'000 + liveness::doubtful_idleness - 1 + 2'000'000);
}

BOOST_AUTO_TEST_CASE(after_an_idle_time_it_has_the_doubt_limit_until_it_is_heard) {
    auto l = liveness{settings};
    l.on_data(1'000'000);
    l.await_reply(1'000'000 + liveness::doubtful_idleness);
    BOOST_TEST(l.silence_ends() == 1'000'000 + liveness::doubtful_idleness + 300'000);
    l.on_data(1'600'000);
    BOOST_TEST(l.silence_ends() == 3'600'000);
}

BOOST_AUTO_TEST_CASE(a_ping_is_due_after_the_interval_and_is_answered_within_the_doubt_limit) {
    auto l = liveness{settings};
    l.on_data(1'000'000);
    BOOST_TEST(l.ping_due() == 1'500'000);
    l.begin_ping(1'500'000);
    BOOST_TEST(l.is_ping_owed());
    BOOST_TEST(l.silence_ends() == 1'800'000);
    l.on_data(1'500'100);
    l.end_ping(true);
    BOOST_TEST(!l.is_ping_owed());
    BOOST_TEST(l.ping_due() == 2'000'100);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_ping_alone_is_asked_again_on_its_next_connection) {
    auto l = liveness{settings};
    l.begin_ping(1'000'000);
    l.end_ping(false);
    BOOST_TEST(l.ping_due() == liveness::never);
    l.disconnected();
    l.connected();
    BOOST_TEST(l.ping_due() == 1'500'000);
}

BOOST_AUTO_TEST_CASE(a_lost_connection_owes_no_ping_and_is_not_doubted) {
    auto l = liveness{settings};
    l.begin_ping(1'000'000);
    l.disconnected();
    BOOST_TEST(!l.is_ping_owed());
    BOOST_TEST(l.silence_ends() == 3'000'000);
}

BOOST_AUTO_TEST_CASE(without_an_interval_no_ping_is_due) {
    auto without = settings;
    without.ping_interval = 0;
    auto l = liveness{without};
    l.on_data(1'000'000);
    BOOST_TEST(l.ping_due() == liveness::never);
}

BOOST_AUTO_TEST_SUITE_END()

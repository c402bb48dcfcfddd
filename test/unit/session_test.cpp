// SPDX-License-Identifier: BSL-1.0
//
// A session when time passes and connections are lost: timeouts, pauses, and its end.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(sessions)

namespace {

using namespace colimit;
using redis::action;
using redis::session_state;
using test::loading;
using test::session_bench;

} // namespace

/// A handler that ran for longer than `connect_timeout` is not the server's delay.
BOOST_AUTO_TEST_CASE(an_attempt_that_came_further_has_time_for_the_next_step) {
    auto c = session_bench{};
    (void)c.session.start(c.now);
    const auto end = c.session.wake_at().value();
    c.session.note_progress(end - 500'000);
    BOOST_TEST(c.session.wake_at().value() == end); // there is enough left
    c.now = end + 300'000;
    c.session.note_progress(c.now);
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST(!c.session.is_too_late(c.now));
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
    (void)c.sent();
    c.now += 200'000;
    c.introduce();
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
}

BOOST_AUTO_TEST_CASE(a_full_server_is_left_alone_for_the_longest_pause) {
    auto c = session_bench{{.reconnect_delay_min = 10, .reconnect_delay_max = 1'000'000}};
    c.open();
    (void)c.reply("-ERR max number of clients reached\r\n");
    c.lose(redis::recovery::reconnect_late);
    BOOST_TEST((c.session.error() == errc::unavailable));
    BOOST_TEST(c.session.earliest_ready_at() >= c.now + 500'000);
}

BOOST_AUTO_TEST_CASE(connecting_and_handshake_share_one_time_out) {
    auto connecting = session_bench{{.connect_timeout = 5'000}};
    (void)connecting.session.start(connecting.now);
    BOOST_TEST((connecting.session.wake(connecting.now + 4'999) == action::nothing));
    BOOST_TEST((connecting.session.wake(connecting.now + 5'000) == action::disconnect));

    auto handshake = session_bench{{.connect_timeout = 5'000}};
    handshake.open();
    handshake.introduce();
    BOOST_TEST(handshake.session.wake_at().value() == handshake.now + 5'000);
    BOOST_TEST((handshake.session.wake(handshake.now + 5'000) == action::disconnect));
    BOOST_TEST((handshake.session.state() == session_state::waiting));
    BOOST_TEST((handshake.session.error() == errc::unavailable));
}

BOOST_AUTO_TEST_CASE(a_new_handshake_on_the_same_connection_has_a_time_out_of_its_own) {
    auto c = session_bench{{.connect_timeout = 5'000}};
    c.open();
    c.introduce();
    c.load(loading, action::nothing);
    BOOST_TEST((c.wait() == action::send));
    BOOST_TEST(c.session.wake_at().value() == c.now + 5'000);
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest_and_are_jittered_between_half_and_all) {
    auto pauses = std::set<std::int64_t>{};
    auto random = std::mt19937{1};
    for (int client = 0; client < 200; ++client) {
        const auto seed = static_cast<std::uint32_t>(random());
        auto c = session_bench{
            {.reconnect_delay_min = 1'000, .reconnect_delay_max = 6'000, .seed = seed}};
        (void)c.session.start(c.now);
        for (const auto length : {1'000, 2'000, 4'000, 6'000, 6'000}) {
            c.lose();
            const auto pause = c.session.wake_at().value() - c.now;
            BOOST_TEST(pause >= length / 2);
            BOOST_TEST(pause <= length);
            if (length == 1'000)
                pauses.insert(pause);
            c.now += pause;
            BOOST_TEST((c.session.wake(c.now) == action::connect));
        }
    }
    BOOST_TEST(pauses.size() > 50U); // many clients do not come back at one instant
    BOOST_TEST(*pauses.begin() < 600);
    BOOST_TEST(*pauses.rbegin() > 900);
}

/// With the default pauses, as `config` promises: when clients return to a server that was away.
BOOST_AUTO_TEST_CASE(clients_do_not_return_together_and_not_much_later_than_the_server) {
    constexpr std::size_t clients = 20'000;
    for (const auto& [away, most] : {std::pair{300'000, 1.0},
                                     {1'000'000, 0.3},
                                     {3'000'000, 0.15},
                                     {5'000'000, 0.15},
                                     {10'000'000, 0.15},
                                     {60'000'000, 0.15}}) {
        auto random = std::mt19937{1};
        auto returns = std::vector<std::int64_t>{};
        while (returns.size() < clients) {
            auto session = redis::session{{.seed = static_cast<std::uint32_t>(random())}};
            auto now = std::int64_t{0};
            BOOST_TEST_REQUIRE((session.start(now) == action::connect));
            while (now < away) {
                (void)session.lost(now);
                now = session.wake_at().value();
                BOOST_TEST_REQUIRE((session.wake(now) == action::connect));
            }
            returns.push_back(now - away);
        }
        std::ranges::sort(returns);
        auto together = std::size_t{0}; // the largest number of returns within 100 ms
        for (std::size_t first = 0, end = 0; first < clients; ++first) {
            while (end < clients && returns[end] < returns[first] + 100'000)
                ++end;
            together = std::max(together, end - first);
        }
        BOOST_TEST(static_cast<double>(together) <= most * clients, away << " us");
        BOOST_TEST(returns.back() <= std::min(std::int64_t{2} * away, std::int64_t{1'500'000}));
    }
}

BOOST_AUTO_TEST_CASE(a_call_that_was_served_ends_the_growth_of_pauses_and_a_handshake_does_not) {
    auto c = session_bench{{.reconnect_delay_min = 1'000, .reconnect_delay_max = 1'000'000}};
    (void)c.session.start(c.now);
    const auto greet_and_lose = [&c](bool serves) {
        (void)c.session.connected();
        (void)c.sent();
        c.serve();
        if (serves)
            c.session.served();
        c.lose();
        const auto pause = c.session.wake_at().value() - c.now;
        c.now += pause;
        (void)c.session.wake(c.now);
        return pause;
    };
    for (int i = 0; i < 8; ++i)
        (void)greet_and_lose(false);
    BOOST_TEST(greet_and_lose(false) >= 64'000);
    BOOST_TEST(greet_and_lose(true) <= 1'000);
    BOOST_TEST(greet_and_lose(false) <= 2'000);
}

BOOST_AUTO_TEST_CASE(a_ready_connection_that_is_lost_is_made_again) {
    auto c = session_bench{};
    c.make_ready();
    c.lose();
    BOOST_TEST((c.session.state() == session_state::waiting));
    BOOST_TEST((c.wait() == action::connect));
    BOOST_TEST(c.session.earliest_ready_at() <= c.now);
}

BOOST_AUTO_TEST_CASE(closed_is_for_good) {
    auto c = session_bench{};
    c.make_ready();
    c.session.close();
    BOOST_TEST((c.session.state() == session_state::closed));
    BOOST_TEST((c.session.lost(c.now) == action::nothing));
    BOOST_TEST((c.session.start(c.now) == action::nothing));
    BOOST_TEST((c.session.wake(c.now + 100'000'000) == action::nothing));
    BOOST_TEST(!c.session.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(who_is_refused_by_tls_waits_long_and_says_why) {
    for (const auto refusal : {errc::untrusted_server, errc::auth_failed}) {
        auto c = session_bench{};
        BOOST_TEST((c.session.start(c.now) == action::connect));
        c.lose(make_error_code(refusal));
        BOOST_TEST((c.session.error() == refusal));
        BOOST_TEST(c.session.is_refused());
        BOOST_TEST(c.session.earliest_ready_at() >= c.now + 500'000);
        // The result of the next attempt counts.
        c.now = c.session.earliest_ready_at();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        c.lose(make_error_code(errc::unavailable));
        BOOST_TEST(!c.session.is_refused());
    }
}

BOOST_AUTO_TEST_SUITE_END()

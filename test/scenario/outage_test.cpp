// SPDX-License-Identifier: BSL-1.0
//
// Servers that die, come back or freeze: every call ends by its deadline, with a code that says
// whether it may have been charged, and everything works again afterwards.

#include <scenario/callers.hpp>
#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_FIXTURE_TEST_SUITE(outages, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::callers;
using scenario::fake_redis;
using test::live;

/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

[[nodiscard]] callers::order without_pauses() {
    return {.rules = rules, .count = 32, .pause = 0us};
}

} // namespace

BOOST_AUTO_TEST_CASE(after_a_restart_of_the_server_calls_work_again_by_themselves) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i) {
            co_await l.until_it_works("k", rules);
            server.restart();
        }
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(ready_waits_for_a_server_that_comes_later) {
    auto server = fake_redis{net};
    server.kill();
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable));
        after(10s, [&] { server.start(); });
        co_await l.limiter.ready();
        BOOST_TEST((now() >= 10s));
        BOOST_TEST((now() <= 10s + 100ms + config{}.advanced.reconnect_delay_max));
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(a_call_waits_for_its_deadline_where_there_is_no_server_yet) {
    auto server = fake_redis{net};
    server.fall_silent();
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable));
        BOOST_TEST((now() == 100ms));
    });
}

BOOST_AUTO_TEST_CASE(when_the_server_dies_calls_in_flight_are_unknown_and_later_ones_unavailable) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 300ms; }};
    auto all = callers{l, without_pauses()};
    run([&]() -> asio::awaitable<void> {
        co_await all.until_decided(1'000);
        server.kill();
        co_await test::until([&] { return all.unavailable > 32; });
        BOOST_TEST(all.unknown > 0);
        BOOST_TEST(all.unknown <= 32);
        server.start();
        co_await all.until_decided(1'000);
        co_await all.finish();
    });
    BOOST_TEST(all.others == 0);
    BOOST_TEST((all.longest <= 300ms), all.longest.count());
}

BOOST_AUTO_TEST_CASE(connections_that_are_killed_again_and_again_never_charge_twice) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    auto all = callers{l, without_pauses()};
    run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            co_await all.until_decided(100);
            co_await test::pause_for(std::chrono::microseconds{os.random().between(0, 400)});
            server.drop_connections();
        }
        co_await all.finish();
        co_await l.until_it_works("k", rules);
        const auto d = co_await l.limiter.peek("k", rules);
        const auto charged = 1'000'000 - d.remaining - 1;
        BOOST_TEST(charged >= all.decided);
        BOOST_TEST(charged <= all.decided + all.unknown);
    });
    BOOST_TEST(all.unknown > 0);
    BOOST_TEST(all.others == 0);
    BOOST_TEST(server.connections() > 100);
}

BOOST_AUTO_TEST_CASE(a_frozen_server_costs_each_call_its_deadline_and_no_more) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        auto ended = 0;
        const auto begin = now();
        for (int i = 0; i < 500; ++i)
            l.limiter.allow("k" + std::to_string(i), rules, [&](error_code ec, const decision&) {
                ++ended;
                BOOST_TEST((ec == errc::outcome_unknown || ec == errc::deadline_exceeded));
                BOOST_TEST((now() - begin == 100ms));
            });
        co_await test::until([&] { return ended == 500; });
        server.thaw();
        co_await l.until_it_works("k", rules);
    });
}

/// First nothing comes back; then there is no connection, and that is said at once.
BOOST_AUTO_TEST_CASE(a_frozen_server_is_left_for_a_new_connection_after_a_while) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 20ms;
                      c.advanced.connect_timeout = 50ms;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        co_await l.until_code("k", rules, errc::outcome_unknown);
        co_await l.until_code("k", rules, errc::unavailable);
        co_await test::until([&] { return server.connections() == 2; });
        BOOST_TEST(l.limiter.statistics().reconnects == 0U); // nor does the second one reply
        server.thaw();
        co_await l.until_it_works("k", rules);
    });
    BOOST_TEST(l.limiter.statistics().reconnects >= 1U);
}

BOOST_AUTO_TEST_CASE(too_many_calls_in_flight_are_refused_at_once_and_the_rest_is_not_harmed) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 1s;
                      c.advanced.max_in_flight = 100;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        auto ended = 0;
        auto refused = 0;
        auto late = 0;
        const auto begin = now();
        for (int i = 0; i < 150; ++i)
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                ++ended;
                const auto is_refused = ec == errc::too_many_in_flight;
                BOOST_TEST((now() - begin == (is_refused ? 0s : 1s)));
                refused += is_refused ? 1 : 0;
                late += ec == errc::outcome_unknown || ec == errc::deadline_exceeded ? 1 : 0;
            });
        co_await test::until([&] { return ended == 150; });
        BOOST_TEST(refused == 50);
        BOOST_TEST(late == 100);
        server.thaw();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Servers that die, come back or freeze: every call ends by its deadline, with a code that says
// whether it may have been charged, and everything works again afterwards.

#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(outages)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using steady = std::chrono::steady_clock;

/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Timers are late on a machine that others use too; what is tested is that calls end, not when to
/// the millisecond.
constexpr auto lateness = 1500ms;

/// 32 callers that call until they are stopped, and what became of their calls.
struct load {
    explicit load(live& l) : target(l), clock(l.context) {
        for (int i = 0; i < 32; ++i)
            asio::co_spawn(target.context, call(), test::rethrow);
    }

    asio::awaitable<void> call() {
        ++running;
        while (!stop) {
            const auto begin = clock.now();
            const auto [ec, d] = co_await target.allow("k", rules);
            longest = std::max(longest, clock.now() - begin);
            granted += !ec && d.allowed() ? 1 : 0;
            unknown += ec == errc::outcome_unknown ? 1 : 0;
            unavailable += ec == errc::unavailable ? 1 : 0;
            missed += ec == errc::deadline_exceeded ? 1 : 0;
            others += ec && ec != errc::outcome_unknown && ec != errc::unavailable &&
                              ec != errc::deadline_exceeded
                          ? 1
                          : 0;
            if (ec)
                co_await test::pause_for(1ms);
        }
        --running;
    }

    asio::awaitable<void> finish() {
        stop = true;
        co_await test::until([this] { return running == 0; });
    }

    live& target;
    bool stop = false;
    int running = 0;
    std::int64_t granted = 0;
    std::int64_t unknown = 0;
    std::int64_t unavailable = 0;
    std::int64_t missed = 0;
    std::int64_t others = 0;
    test::loop_clock clock;
    std::chrono::milliseconds longest{0};
};

} // namespace

BOOST_AUTO_TEST_CASE(after_a_restart_of_the_server_calls_work_again_by_themselves) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.reconnect_delay_max = 100ms; }};
    l.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i) {
            co_await l.until_it_works("k", rules);
            server.restart();
        }
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(ready_waits_for_a_server_that_comes_later) {
    auto server = test::redis_server{};
    server.kill();
    auto l = live{server.address(), [](config& c) {
                      c.reconnect_delay_max = 50ms;
                      c.timeout = 100ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST(ec.failed());
        server.start();
        co_await l.limiter.ready();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(when_the_server_dies_calls_in_flight_are_unknown_and_later_ones_unavailable) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) {
                      c.timeout = 300ms;
                      c.reconnect_delay_max = 50ms;
                  }};
    auto callers = load{l};
    l.run([&]() -> asio::awaitable<void> {
        co_await test::until([&] { return callers.granted > 1'000; });
        server.stop(); // so that some are surely in flight
        co_await test::pause_for(50ms);
        server.kill();
        co_await test::until([&] { return callers.unavailable > 32; });
        server.start();
        const auto before = callers.granted;
        co_await test::until([&] { return callers.granted > before + 1'000; });
        co_await callers.finish();
    });
    BOOST_TEST(callers.unknown > 0);
    BOOST_TEST(callers.others == 0);
    BOOST_TEST((callers.longest < 300ms + lateness));
}

BOOST_AUTO_TEST_CASE(connections_that_are_killed_again_and_again_never_charge_twice) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) {
                      c.reconnect_delay_min = 1ms;
                      c.reconnect_delay_max = 2ms;
                  }};
    auto callers = load{l};
    l.run([&]() -> asio::awaitable<void> {
        for (int i = 0; i < 30; ++i) {
            const auto before = callers.granted;
            co_await test::until([&] { return callers.granted > before + 100; });
            look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        }
        co_await callers.finish();
        const auto before = callers.granted;
        co_await l.until_it_works("k", rules);
        const auto d = co_await l.limiter.peek("k", rules);
        const auto charged = 1'000'000 - d.remaining - 1;
        BOOST_TEST(charged >= before);
        BOOST_TEST(charged <= before + callers.unknown);
    });
    BOOST_TEST(callers.others == 0);
}

BOOST_AUTO_TEST_CASE(a_frozen_server_costs_each_call_its_deadline_and_no_more) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 100ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        auto ended = 0;
        auto wrong = 0;
        auto longest = steady::duration{};
        const auto clock = test::loop_clock{l.context};
        for (int i = 0; i < 500; ++i)
            l.limiter.allow(
                "k" + std::to_string(i), rules,
                [&, begin = steady::now()](error_code ec, const decision&) {
                    ++ended;
                    wrong += ec == errc::outcome_unknown || ec == errc::deadline_exceeded ? 0 : 1;
                    longest = std::max(longest, steady::now() - begin);
                });
        co_await test::until([&] { return ended == 500; });
        BOOST_TEST(wrong == 0);
        BOOST_TEST((longest >= 100ms));
        BOOST_TEST((clock.now() < 100ms + lateness));
        server.cont();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(a_frozen_server_is_left_for_a_new_connection_after_a_while) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) {
                      c.timeout = 20ms;
                      c.connect_timeout = 50ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        // First nothing comes back; then there is no connection, and that is said at once.
        co_await l.until_code("k", rules, errc::outcome_unknown);
        co_await l.until_code("k", rules, errc::unavailable);
        server.cont();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(too_many_calls_in_flight_are_refused_at_once_and_the_rest_is_not_harmed) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) {
                      c.timeout = 1s;
                      c.max_in_flight = 100;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        auto ended = 0;
        auto refused = 0;
        auto late = 0;
        for (int i = 0; i < 150; ++i)
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                ++ended;
                refused += ec == errc::too_many_in_flight ? 1 : 0;
                late += ec == errc::outcome_unknown || ec == errc::deadline_exceeded ? 1 : 0;
            });
        co_await test::until([&] { return refused == 50; });
        BOOST_TEST(ended == 50);
        co_await test::until([&] { return ended == 150; });
        BOOST_TEST(late == 100);
        server.cont();
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_SUITE_END()

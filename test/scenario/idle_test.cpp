// SPDX-License-Identifier: BSL-1.0
//
// Idle connections: they are checked with a PING, and one that was dropped silently, so that bytes
// go nowhere, is replaced early.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>

BOOST_FIXTURE_TEST_SUITE(idle_connections, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto defaults = config{}; // GCC 12 destroys a temporary one of a co_await twice
const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Returns how often it has got the command, whether it was executed or not.
[[nodiscard]] auto received(const fake_redis& by, std::string_view command) {
    return std::ranges::count(by.log, command);
}

} // namespace

/// The PING is sent after ping_interval, and its reply waited for as long as a call's.
BOOST_AUTO_TEST_CASE(one_that_was_dropped_is_replaced_before_a_call_finds_out) {
    for (const auto timeout : {20ms, 1'000ms}) {
        auto server = fake_redis{net};
        auto l = live{context, server.url(), [=](config& c) {
                          c.advanced.ping_interval = 500ms;
                          c.timeout = timeout;
                      }};
        run([&]() -> asio::awaitable<void> {
            const auto before = co_await l.limiter.allow("k", rules);
            BOOST_TEST(before.allowed());
            const auto idle_since = std::chrono::microseconds{os.now()};
            server.lose_connections();
            co_await test::until([&] { return l.limiter.statistics().reconnects == 1; });
            const auto silence = std::max<std::chrono::microseconds>(timeout, limits::ping_timeout);
            const auto lost = server.attempts.at(1) - idle_since - 500ms - silence;
            BOOST_TEST((lost >= defaults.advanced.reconnect_delay_min / 2));
            BOOST_TEST((lost <= defaults.advanced.reconnect_delay_min + 1ms));
            const auto after = co_await l.limiter.allow("k", rules);
            BOOST_TEST((after.source == decision_source::store));
        });
        BOOST_TEST(l.limiter.statistics().failed == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_first_call_that_is_not_answered_replaces_it) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 1s; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        co_await test::pause_for(600ms);
        server.lose_connections();
        const auto begin = now();
        const auto [lost, d] = co_await l.allow("k", rules);
        BOOST_TEST((lost == errc::outcome_unknown), lost.message());
        BOOST_TEST((now() - begin == 1s));
        BOOST_TEST(server.connections() == 1);
        co_await test::pause_for(defaults.advanced.reconnect_delay_min + 1ms);
        BOOST_TEST(server.connections() == 2);
        co_await l.limiter.allow("k", rules);
    });
    BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_CASE(one_that_answers_is_kept_and_checked_at_its_interval) {
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        auto server = fake_redis{net};
        auto l = live{context, server.url(), [how](config& c) {
                          c.advanced.ping_interval = 200ms;
                          c.advanced.mode = how;
                      }};
        run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            const auto before = server.calls_of("ping");
            co_await test::pause_for(10s);
            BOOST_TEST(server.calls_of("ping") - before ==
                       49); // and the time that each of them takes
        });
        BOOST_TEST(server.connections() == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_reply_that_came_while_the_loop_stood_still_counts) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.advanced.ping_interval = 1ms;
                      c.timeout = 10ms;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int i = 0; i < 3; ++i) {
            const auto before = server.calls_of("ping");
            co_await test::until([&] { return server.calls_of("ping") > before; });
            work_for(limits::ping_timeout + 50ms);
        }
        co_await test::pause_for(1ms);
    });
    BOOST_TEST(server.connections() == 1);
    BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
}

/// Both are replied to in one segment.
BOOST_AUTO_TEST_CASE(calls_behind_a_ping_get_their_own_replies) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.advanced.ping_interval = 10ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int i = 1; i <= 5; ++i) {
            server.stop();
            co_await test::pause_for(11ms);
            const auto before = server.calls_of("ping");
            after(1ms, [&] { server.thaw(); });
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.remaining == 1'000'000 - i);
            BOOST_TEST(server.calls_of("ping") == before + 1);
        }
    });
    BOOST_TEST(server.connections() == 1);
}

/// It is alive between the calls that it had no time for.
BOOST_AUTO_TEST_CASE(a_server_that_answers_pings_between_its_misses_does_not_open_the_breaker) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.advanced.ping_interval = 10ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        server.refuses = [](simulation::words command) {
            return std::string{command[0] == "PING" ? "" : "BUSY a script"};
        };
        for (auto i = 0; i < 2 * limits::breaker_failures; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::unavailable));
            co_await test::pause_for(11ms);
        }
    });
    BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
}

BOOST_AUTO_TEST_CASE(a_server_that_denies_ping_is_not_sent_another) {
    auto server = fake_redis{net};
    server.denied = {"ping"};
    auto l = live{context, server.url(), [](config& c) { c.advanced.ping_interval = 1ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int i = 1; i <= 5; ++i) {
            co_await test::pause_for(10ms);
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.remaining == 1'000'000 - i);
        }
        BOOST_TEST(received(server, "ping") == 1);
        server.drop_connections(); // on another connection it may be allowed
        co_await test::pause_for(1s);
        BOOST_TEST(received(server, "ping") == 2);
    });
    BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Idle connections: they are checked with a PING, and one that was dropped silently, so that bytes
// go nowhere, is replaced early.

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

BOOST_AUTO_TEST_SUITE(idle_connections)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::fault;
using test::fault_kind;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Commands of a handshake.
constexpr auto greeting = test::script_handshake;

/// Swallows what the client sends on its first connection, from a command on.
[[nodiscard]] test::fault_proxy::plan swallows_from(std::size_t command) {
    return [command](int connection) {
        return connection == 1 ? fault{.kind = fault_kind::stall,
                                       .way = test::way::to_server,
                                       .message = command}
                               : fault{};
    };
}

/// A limiter behind a proxy on the limiter's own context.
struct proxied {
    proxied(test::fault_proxy::plan plan, const std::function<void(config&)>& adjust)
        : proxy(context, server.address(), std::move(plan)),
          limiter(context.get_executor(), settings(proxy, adjust)) {}

    static config settings(const test::fault_proxy& proxy,
                           const std::function<void(config&)>& adjust) {
        auto c = config{};
        c.server = proxy.address();
        c.timeout = 1s;
        c.on_failure = failure_mode::error;
        adjust(c);
        return c;
    }

    test::redis_server server;
    asio::io_context context{1};
    test::fault_proxy proxy;
    colimit::limiter limiter;
};

} // namespace

BOOST_AUTO_TEST_CASE(one_that_was_dropped_is_replaced_before_a_call_finds_out) {
    auto p = proxied{swallows_from(greeting + 1), [](config& c) { c.ping_interval = 20ms; }};
    test::run(p.context, [&]() -> asio::awaitable<void> {
        co_await p.limiter.ready();
        const auto before = co_await p.limiter.allow("k", rules);
        BOOST_TEST(before.allowed());
        co_await test::until([&] { return p.limiter.statistics().reconnects == 1; });
        const auto after = co_await p.limiter.allow("k", rules);
        BOOST_TEST((after.source == decision_source::store));
    });
    BOOST_TEST(p.proxy.on(1).struck);
    BOOST_TEST(p.limiter.statistics().failed == 0U);
}

BOOST_AUTO_TEST_CASE(a_first_call_that_is_not_answered_replaces_it) {
    auto p = proxied{swallows_from(greeting), [](config& c) { c.ping_interval = 0ms; }};
    test::run(p.context, [&]() -> asio::awaitable<void> {
        co_await p.limiter.ready();
        co_await test::pause_for(600ms);
        const auto [lost, d] = co_await p.limiter.allow("k", rules, asio::as_tuple(asio::deferred));
        BOOST_TEST((lost == errc::outcome_unknown), lost.message());
        co_await test::until([&] { return p.proxy.connections() == 2; });
        const auto [works, e] =
            co_await p.limiter.allow("k", rules, asio::as_tuple(asio::deferred));
        BOOST_TEST(!works, works.message());
    });
    BOOST_TEST(p.proxy.connections() == 2);
}

BOOST_AUTO_TEST_CASE(one_that_answers_is_kept) {
    auto server = test::redis_server{};
    auto look = server.connect();
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        const auto before = test::calls_of(look, "ping");
        auto l = live{server.address(), [how](config& c) {
                          c.ping_interval = 2ms;
                          c.mode = how;
                      }};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            co_await test::until([&] { return test::calls_of(look, "ping") >= before + 5; });
        });
        BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_reply_that_came_while_the_loop_stood_still_counts) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) {
                      c.ping_interval = 1ms;
                      c.timeout = 10ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int i = 0; i < 3; ++i) {
            const auto before = test::calls_of(look, "ping");
            co_await test::until([&] { return test::calls_of(look, "ping") > before; });
            std::this_thread::sleep_for(limits::ping_timeout + 50ms);
        }
        co_await test::pause_for(1ms);
    });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
}

BOOST_AUTO_TEST_CASE(calls_behind_a_ping_get_their_own_replies) {
    auto context = asio::io_context{1};
    auto script = test::script_double{rules};
    auto pings = 0;
    auto peer =
        test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                co_await c.greet();
                                for (auto owed = 0;;) {
                                    const auto words = co_await c.next();
                                    if (words.at(0) == "PING") {
                                        ++pings;
                                        ++owed;
                                        continue;
                                    }
                                    auto answer = std::string{};
                                    for (; owed != 0; --owed)
                                        answer += "+PONG\r\n";
                                    answer += script.answer(words);
                                    co_await c.send(answer);
                                }
                            }};
    auto settings = peer.settings();
    settings.ping_interval = 1ms;
    auto limiter = colimit::limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await limiter.ready();
        for (int i = 1; i <= 5; ++i) {
            co_await test::until([&] { return pings == i; });
            const auto d = co_await limiter.allow("k", rules);
            BOOST_TEST(d.remaining == 1'000'000 - i);
        }
    });
    BOOST_TEST(peer.connections() == 1);
}

/// It is alive between the calls that it had no time for.
BOOST_AUTO_TEST_CASE(a_server_that_answers_pings_between_its_misses_does_not_open_the_breaker) {
    auto context = asio::io_context{1};
    auto pings = 0;
    auto peer = test::scripted_peer{
        context, [&](test::peer_connection& c) -> asio::awaitable<void> {
            co_await c.greet();
            for (;;) {
                const auto is_ping = (co_await c.next())[0] == "PING";
                pings += is_ping ? 1 : 0;
                const auto reply = std::string_view{is_ping ? "+PONG\r\n" : "-BUSY a script\r\n"};
                co_await c.send(reply);
            }
        }};
    auto settings = peer.settings();
    settings.ping_interval = 10ms;
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await l.ready();
        for (auto i = 0; i < 2 * limits::breaker_failures; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == errc::unavailable));
            // The last of them is sent when the one before it has been answered.
            const auto enough = pings + 2;
            co_await test::until([&] { return pings >= enough; });
        }
    });
    BOOST_TEST(l.statistics().breaker_openings == 0U);
}

BOOST_AUTO_TEST_CASE(a_server_that_denies_ping_is_not_sent_another) {
    auto context = asio::io_context{1};
    auto script = test::script_double{rules};
    auto pings = 0;
    auto peer = test::scripted_peer{
        context, [&](test::peer_connection& c) -> asio::awaitable<void> {
            co_await c.greet();
            for (;;) {
                const auto words = co_await c.next();
                const auto is_ping = words.at(0) == "PING";
                pings += is_ping ? 1 : 0;
                const auto answer =
                    is_ping ? std::string{"-NOPERM User ann has no permissions to run the 'ping' "
                                          "command\r\n"}
                            : script.answer(words);
                co_await c.send(answer);
            }
        }};
    auto settings = peer.settings();
    settings.ping_interval = 1ms;
    auto limiter = colimit::limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await limiter.ready();
        co_await test::until([&] { return pings == 1; });
        for (int i = 1; i <= 5; ++i) {
            co_await test::pause_for(10ms);
            const auto d = co_await limiter.allow("k", rules);
            BOOST_TEST(d.remaining == 1'000'000 - i);
        }
    });
    BOOST_TEST(pings == 1);
    BOOST_TEST(peer.connections() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

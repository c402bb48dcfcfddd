// SPDX-License-Identifier: BSL-1.0
//
// When events are sent, and how often: one per incident, with its cause, and none without an
// incident.

#include "problems.hpp"

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(diagnostics_events)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::count;
using test::first;
using test::has;
using test::live;

const auto rules = policy{"p", gcra(100'000, 1h)};

/// Puts events into `seen`, and lets a failure mode decide.
[[nodiscard]] auto collecting(std::vector<event>& seen, std::function<void(config&)> more = {}) {
    return [&seen, more](config& c) {
        c.on_event = [&seen](const event& e) { seen.push_back(e); };
        c.on_failure = failure_mode::local;
        c.deny_cache = 0;
        if (more)
            more(c);
    };
}

/// Makes the state of a key a value of another type.
void spoil(test::raw_client& look, std::string_view part_of_name) {
    for (const auto& name : look.keys())
        if (name.find(part_of_name) != std::string::npos) {
            look.must({"DEL", name});
            look.must({"RPUSH", name, "x"});
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_above_max_in_flight_are_no_outage) {
    auto server = test::redis_server{};
    auto seen = std::vector<event>{};
    auto l = live{server.address(), collecting(seen, [](config& c) { c.max_in_flight = 4; })};
    auto instead = 0;
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (auto i = 0; i < 100; ++i) {
            auto left = 8;
            for (auto j = 0; j < 8; ++j)
                l.limiter.allow("k" + std::to_string(j), rules, [&](error_code, const decision& d) {
                    instead += d.source == decision_source::fallback ? 1 : 0;
                    --left;
                });
            co_await test::until([&] { return left == 0; });
        }
    });
    BOOST_TEST(instead > 0);
    BOOST_TEST(count(seen, event_kind::fallback_started) == 0);
    BOOST_TEST(count(seen, event_kind::fallback_ended) == 0);
}

BOOST_AUTO_TEST_CASE(calls_that_the_server_refuses_among_others_are_one_period) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto seen = std::vector<event>{};
    auto l = live{server.address(), collecting(seen)};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        for (auto i = 0; i < 20; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((d.source == decision_source::fallback));
            const auto peeked = co_await l.limiter.peek("k", rules);
            BOOST_TEST((peeked.source == decision_source::store));
        }
        BOOST_TEST(count(seen, event_kind::fallback_ended) == 0);
        look.must({"CONFIG", "SET", "maxmemory", "0"});
        co_await l.limiter.allow("k", rules);
        co_await test::until([&] { return count(seen, event_kind::fallback_ended) == 1; });
    });
    BOOST_TEST(count(seen, event_kind::fallback_started) == 1);
    const auto cause = first(seen, event_kind::fallback_started).cause.value();
    BOOST_TEST(cause.text.starts_with("OOM"), cause);
}

BOOST_AUTO_TEST_CASE(the_cause_is_that_of_the_call_and_not_an_earlier_problem) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto seen = std::vector<event>{};
    auto l = live{server.address(), collecting(seen, [](config& c) { c.timeout = 300ms; })};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        spoil(look, "p");
        const auto [conflict, none] = co_await l.allow("k", rules);
        BOOST_TEST((conflict == errc::key_conflict));
        auto left = 1;
        l.limiter.allow("other", rules, [&](error_code, const decision& d) {
            BOOST_TEST((d.source == decision_source::fallback));
            --left;
        });
        std::this_thread::sleep_for(400ms); // its deadline passes before it is sent
        co_await test::until([&] { return left == 0; });
        co_await test::until([&] { return count(seen, event_kind::fallback_started) == 1; });
    });
    const auto cause = first(seen, event_kind::fallback_started).cause.value();
    BOOST_TEST((cause.code == errc::deadline_exceeded), cause);
    BOOST_TEST(cause.text == "");
    BOOST_TEST((l.limiter.last_error()->code == errc::key_conflict));
}

BOOST_AUTO_TEST_CASE(a_connection_that_an_error_reply_to_a_ping_ends_has_a_cause) {
    auto context = asio::io_context{1};
    auto seen = std::vector<event>{};
    auto peer = test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                        co_await c.greet();
                                        (void)co_await c.next(); // PING
                                        co_await c.send("-NOAUTH Authentication required.\r\n");
                                        co_await c.stay_silent();
                                    }};
    auto settings = config{};
    settings.server = peer.address();
    collecting(seen, [](config& c) { c.ping_interval = 20ms; })(settings);
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await test::until([&] { return count(seen, event_kind::disconnected) == 1; });
    });
    const auto& cause = first(seen, event_kind::disconnected).cause;
    BOOST_REQUIRE(cause.has_value());
    BOOST_TEST(cause->text == "NOAUTH Authentication required.");
    BOOST_TEST((cause->code == errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(a_script_is_loaded_when_the_server_has_taken_it) {
    auto context = asio::io_context{1};
    auto seen = std::vector<event>{};
    auto peer = test::scripted_peer{
        context, [](test::peer_connection& c) -> asio::awaitable<void> {
            (void)co_await c.next(); // HELLO
            co_await c.send(test::hello_reply);
            // The module, two scripts, the permissions, HELLO, ...
            for (auto i = 0; i < 14; ++i) {
                const auto words = co_await c.next();
                const auto busy = std::string_view{"-BUSY Redis is busy running a script.\r\n"};
                const auto reply = words.at(0) == "HELLO"           ? test::hello_reply
                                   : words.at(0) == "COLIMIT.CHECK" ? test::unknown_command
                                                                    : busy;
                co_await c.send(reply);
            }
            co_await c.greet();
            co_await c.stay_silent();
        }};
    auto settings = config{};
    settings.server = peer.address();
    settings.timeout = 10s;
    collecting(seen, [](config& c) { c.reconnect_delay_max = 10ms; })(settings);
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> {
        co_await test::until([&] { return l.statistics().script_loads >= 2; });
        co_await test::until([&] { return l.last_error().has_value(); });
        BOOST_TEST(count(seen, event_kind::script_loaded) == 0);
        co_await test::until([&] { return count(seen, event_kind::connected) == 1; });
    });
    BOOST_TEST(count(seen, event_kind::script_loaded) == 1);
    BOOST_TEST(l.statistics().script_loads > 2U);
}

BOOST_AUTO_TEST_CASE(a_handler_sees_the_state_that_its_call_has_caused) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) {
                      c.on_failure = failure_mode::local;
                      c.timeout = 50ms;
                  }};
    auto checked = 0;
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        while (checked == 0) {
            auto left = 1;
            l.limiter.allow("k", rules, [&](error_code, const decision&) {
                --left;
                if (l.limiter.statistics().breaker_openings == 0)
                    return;
                BOOST_TEST(l.limiter.health().state == health_state::degraded);
                ++checked;
            });
            co_await test::until([&] { return left == 0; });
        }
        server.cont();
    });
}

// Permissions

BOOST_AUTO_TEST_CASE(a_denial_in_turn_with_another_problem_is_one_event) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~colimit:*", "+@all"});
    const auto denied = policy{"denied", gcra(5, 1h)}.with_prefix("denied");
    auto seen = std::vector<event>{};
    auto l = live{"unix://ann:pw@" + server.socket(), collecting(seen)};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        spoil(look, "p");
        for (auto i = 0; i < 20; ++i) {
            const auto [refused, none] = co_await l.allow("k", denied);
            BOOST_TEST((refused == errc::auth_failed), refused.message());
            const auto [conflict, nothing] = co_await l.allow("k", rules);
            BOOST_TEST((conflict == errc::key_conflict), conflict.message());
        }
        co_await test::until([&] { return !seen.empty(); });
    });
    BOOST_TEST(count(seen, event_kind::permission_denied) == 1);
    const auto cause = first(seen, event_kind::permission_denied).cause.value();
    BOOST_TEST((cause.code == errc::auth_failed), cause);
}

BOOST_AUTO_TEST_CASE(a_denial_after_a_call_that_was_permitted_is_an_event_of_its_own) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto seen = std::vector<event>{};
    for (const auto calls : {execution_mode::script, execution_mode::multi}) {
        seen.clear();
        const auto p =
            calls == execution_mode::script ? rules : policy{"log", sliding_log(100, 1h)};
        const auto command = std::string{calls == execution_mode::script ? "setrange" : "zadd"};
        look.must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~*", "+@all"});
        auto l = live{"unix://ann:pw@" + server.socket(),
                      collecting(seen, [calls](config& c) { c.mode = calls; })};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.until_it_works("k", p);
            for (auto i = 1; i <= 2; ++i) { // the second one within a second of the first
                look.must({"ACL", "SETUSER", "ann", "-" + command});
                co_await l.until_code("k", p, errc::auth_failed);
                co_await l.until_code("k", p, errc::auth_failed);
                look.must({"ACL", "SETUSER", "ann", "+" + command});
                co_await l.until_it_works("k", p);
                co_await test::until(
                    [&] { return count(seen, event_kind::permission_denied) >= i; });
            }
        });
        BOOST_TEST(count(seen, event_kind::permission_denied) == 2);
        BOOST_TEST((seen.back().at - first(seen, event_kind::permission_denied).at >= 900ms));
    }
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_by_its_events_in_order) {
    using enum event_kind;
    auto server = test::redis_server{};
    for (const auto threads : {false, true}) {
        auto seen = std::vector<event>{};
        auto l = live{server.address(), [&](config& c) {
                          c.on_failure = failure_mode::local;
                          c.reconnect_delay_max = 10ms;
                          c.timeout = 100ms;
                          c.thread_safe = threads;
                          c.on_event = [&](const event& e) { seen.push_back(e); };
                      }};
        BOOST_TEST(seen.empty()); // nothing is called from within
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            (void)co_await l.allow("k", rules);
            co_await test::until([&] { return count(seen, script_loaded) == 1; });
            BOOST_TEST(count(seen, connected) == 1);
            server.kill();
            co_await test::until([&] { return count(seen, breaker_opened) == 1; });
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((d.source == decision_source::fallback));
            co_await test::until([&] { return count(seen, fallback_started) == 1; });
            server.start();
            co_await test::until([&] { return count(seen, breaker_closed) == 1; });
            co_await test::until([&] { return count(seen, connected) == 2; });
            auto by_server = false;
            while (!by_server) {
                const auto [fine, now] = co_await l.allow("k", rules);
                by_server = now.source == decision_source::store;
            }
            co_await test::until([&] { return count(seen, fallback_ended) == 1; });
        });
        BOOST_TEST(count(seen, disconnected) == 1);
        BOOST_TEST(count(seen, fallback_started) == 1);
        BOOST_TEST(count(seen, permission_denied) == 0);
        const auto at = [&](event_kind kind) {
            return std::ranges::find(seen, kind, &event::kind);
        };
        BOOST_TEST((at(disconnected) < at(breaker_opened)));
        BOOST_TEST((at(breaker_opened) < at(fallback_started)));
        BOOST_TEST((at(fallback_started) < at(breaker_closed)));
        BOOST_TEST((at(breaker_closed) < at(fallback_ended)));
        BOOST_TEST(has(to_string(*at(disconnected)), "the connection was lost"));
        BOOST_TEST(has(to_string(*at(breaker_opened)), "Connection refused"));
        BOOST_TEST(std::ranges::is_sorted(seen, {}, &event::at));
    }
}

BOOST_AUTO_TEST_CASE(a_denied_command_is_an_event_once) {
    auto server = test::redis_server{};
    server.connect().must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "-setrange"});
    auto seen = std::vector<event>{};
    auto l = live{"unix://ann:pw@" + server.socket(),
                  [&](config& c) { c.on_event = [&](const event& e) { seen.push_back(e); }; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i)
            (void)co_await l.allow("k", rules);
        co_await test::until([&] { return count(seen, event_kind::permission_denied) != 0; });
        (void)co_await l.allow("k", rules);
    });
    BOOST_TEST(count(seen, event_kind::permission_denied) == 1);
    BOOST_TEST(test::names_setrange(to_string(seen.back())), seen.back());
}

BOOST_AUTO_TEST_CASE(an_event_may_use_close_and_destroy_the_limiter_and_may_throw) {
    auto server = test::redis_server{};
    auto context = asio::io_context{1};
    auto l = std::unique_ptr<limiter>{};
    auto settings = config{};
    settings.server = server.address();
    settings.on_event = [&](const event& e) {
        if (e.kind != event_kind::connected)
            return;
        BOOST_TEST(l->health().state == health_state::ready);
        l->allow("k", rules, [](error_code ec, const decision&) {
            BOOST_TEST((ec == errc::closed), ec.message());
        });
        l.reset();
        throw std::runtime_error{"from an event"};
    };
    l = std::make_unique<limiter>(context.get_executor(), settings);
    BOOST_CHECK_THROW(context.run(), std::runtime_error);
    context.run(); // and goes on to its end
    BOOST_TEST(!l);
}

BOOST_AUTO_TEST_SUITE_END()

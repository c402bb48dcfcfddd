// SPDX-License-Identifier: BSL-1.0
//
// When events are sent, and how often: one per incident, with its cause, and none without an
// incident.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(diagnostics_events, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
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
        c.advanced.deny_cache = 0;
        if (more)
            more(c);
    };
}

/// Makes all states values of another type.
void spoil(fake_redis& server) {
    auto names = std::vector<std::string>{};
    for (const auto& [name, value] : server.keys().keys())
        names.push_back(name);
    for (const auto& name : names) {
        (void)server.run({"DEL", name});
        (void)server.run({"RPUSH", name, "x"});
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_above_max_in_flight_are_no_outage) {
    auto server = fake_redis{net};
    auto seen = std::vector<event>{};
    auto l = live{context, server.url(),
                  collecting(seen, [](config& c) { c.advanced.max_in_flight = 4; })};
    auto instead = 0;
    run([&]() -> asio::awaitable<void> {
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
    auto server = fake_redis{net};
    auto seen = std::vector<event>{};
    auto l = live{context, server.url(), collecting(seen)};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        server.is_full = true;
        for (auto i = 0; i < 20; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((d.source == decision_source::fallback));
            const auto peeked = co_await l.limiter.peek("k", rules);
            BOOST_TEST((peeked.source == decision_source::store));
        }
        BOOST_TEST(count(seen, event_kind::fallback_ended) == 0);
        server.is_full = false;
        co_await l.limiter.allow("k", rules);
        co_await test::until([&] { return count(seen, event_kind::fallback_ended) == 1; });
    });
    BOOST_TEST(count(seen, event_kind::fallback_started) == 1);
    const auto cause = first(seen, event_kind::fallback_started).cause.value();
    BOOST_TEST(cause.text.starts_with("OOM"), cause);
}

BOOST_AUTO_TEST_CASE(the_cause_is_that_of_the_call_and_not_an_earlier_problem) {
    auto server = fake_redis{net};
    auto seen = std::vector<event>{};
    auto l = live{context, server.url(), collecting(seen, [](config& c) { c.timeout = 300ms; })};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        spoil(server);
        const auto [conflict, none] = co_await l.allow("k", rules);
        BOOST_TEST((conflict == errc::key_conflict));
        auto left = 1;
        l.limiter.allow("other", rules, [&](error_code, const decision& d) {
            BOOST_TEST((d.source == decision_source::fallback));
            --left;
        });
        work_for(400ms); // its deadline passes before it is sent
        co_await test::until([&] { return left == 0; });
        co_await test::until([&] { return count(seen, event_kind::fallback_started) == 1; });
    });
    const auto cause = first(seen, event_kind::fallback_started).cause.value();
    BOOST_TEST((cause.code == errc::deadline_exceeded), cause);
    BOOST_TEST(cause.text == "");
    BOOST_TEST((l.limiter.last_error()->code == errc::key_conflict));
}

BOOST_AUTO_TEST_CASE(a_connection_that_an_error_reply_to_a_ping_ends_has_a_cause) {
    auto server = fake_redis{net};
    server.refuses = [](simulation::words command) {
        return std::string{command[0] == "PING" ? "NOAUTH Authentication required." : ""};
    };
    auto seen = std::vector<event>{};
    const auto l = live{context, server.url(),
                        collecting(seen, [](config& c) { c.advanced.ping_interval = 20ms; })};
    run_until([&] { return count(seen, event_kind::disconnected) == 1; });
    BOOST_TEST((now() < 25ms));
    const auto& cause = first(seen, event_kind::disconnected).cause;
    BOOST_REQUIRE(cause.has_value());
    BOOST_TEST(cause->text == "NOAUTH Authentication required.");
    BOOST_TEST((cause->code == errc::auth_failed));
}

/// Except to the question for the module, it replies BUSY until the second connection.
BOOST_AUTO_TEST_CASE(a_script_is_loaded_when_the_server_has_taken_it) {
    auto server = fake_redis{net};
    server.refuses = [&](simulation::words command) {
        const auto is_refused =
            server.connections() < 2 && command[0] != "HELLO" && command[0] != "COLIMIT.CHECK";
        return std::string{is_refused ? "BUSY Redis is busy running a script." : ""};
    };
    auto seen = std::vector<event>{};
    auto l = live{context, server.url(), collecting(seen)};
    run([&]() -> asio::awaitable<void> {
        co_await test::until([&] { return l.limiter.statistics().script_loads >= 4; });
        co_await test::until([&] { return l.limiter.last_error().has_value(); });
        BOOST_TEST(count(seen, event_kind::script_loaded) == 0);
        server.drop_connections();
        co_await test::until([&] { return count(seen, event_kind::connected) == 1; });
    });
    BOOST_TEST(count(seen, event_kind::script_loaded) == 1);
    BOOST_TEST(l.limiter.statistics().script_loads > 4U);
}

BOOST_AUTO_TEST_CASE(a_handler_sees_the_state_that_its_call_has_caused) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.on_failure = failure_mode::local;
                      c.timeout = 50ms;
                  }};
    auto checked = 0;
    run([&]() -> asio::awaitable<void> {
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
        server.thaw();
    });
}

BOOST_AUTO_TEST_CASE(an_outage_is_told_by_its_events_in_order) {
    using enum event_kind;
    auto server = fake_redis{net};
    for (const auto threads : {false, true}) {
        auto seen = std::vector<event>{};
        auto l = live{context, server.url(), [&](config& c) {
                          c.on_failure = failure_mode::local;
                          c.advanced.reconnect_delay_max = 10ms;
                          c.timeout = 100ms;
                          c.thread_safe = threads;
                          c.on_event = [&](const event& e) { seen.push_back(e); };
                      }};
        BOOST_TEST(seen.empty()); // nothing is called from within
        run([&]() -> asio::awaitable<void> {
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

BOOST_AUTO_TEST_CASE(an_event_may_use_close_and_destroy_the_limiter_and_may_throw) {
    auto server = fake_redis{net};
    auto l = std::unique_ptr<limiter>{};
    auto settings = config{};
    settings.server = server.url();
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

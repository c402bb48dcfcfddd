// SPDX-License-Identifier: BSL-1.0
//
// execution_mode::function on servers that lack the library, have another version of it, lose it
// while calls are made, and get it: the error says what to load, and no limiter has to be made
// again.

#include "calls_that_wait.hpp"
#include <support/problems.hpp>

#include <redis/protocol/script.hpp>
#include <support/function_library.hpp>
#include <support/live_limiter.hpp>
#include <support/ordered_failover.hpp>
#include <support/redis_cluster.hpp>
#include <support/sentinel_group.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/co_spawn.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

BOOST_AUTO_TEST_SUITE(function_library)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::check_last;
using test::live;
using test::load_function_library;

constexpr auto capacity = std::int64_t{1'000'000};
/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(capacity, 24h * 36'500)};

const auto library = std::string{redis::function_library};
const auto advice = "the server lacks the function library " + library +
                    ": load share/colimit/colimit.lua with FUNCTION LOAD; it replied: ERR Function "
                    "not found";

void call_functions(config& c) {
    c.advanced.mode = execution_mode::function;
    c.advanced.reconnect_delay_max = 20ms;
}

/// Returns the library with another version in all its names.
[[nodiscard]] std::string other_version() {
    const auto version = library.substr(library.find('_') + 1);
    auto text = test::function_library_text();
    for (auto at = text.find(version); at != std::string::npos; at = text.find(version, at))
        text.replace(at, version.size(), "000000000000");
    return text;
}

asio::awaitable<void> check_missing(live& l, const std::string& text = advice) {
    const auto code = co_await l.ready();
    BOOST_TEST((code == errc::invalid_config), code.message());
    BOOST_TEST((code == condition::permanent));
    const auto [ec, d] = co_await l.allow("k", rules);
    BOOST_TEST((ec == errc::invalid_config), ec.message());
    BOOST_TEST(l.limiter.health().state == health_state::refused);
    check_last(l.limiter, errc::invalid_config, phase::handshake, text);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_missing_library_is_named_in_every_mode_until_it_is_loaded) {
    for (const auto mode :
         {failure_mode::local, failure_mode::allow, failure_mode::deny, failure_mode::error}) {
        const auto server = test::redis_server{};
        auto look = server.connect();
        auto l = live{server.address(), [mode](config& c) {
                          call_functions(c);
                          c.on_failure = mode;
                          c.timeout = 50ms;
                      }};
        l.run([&]() -> asio::awaitable<void> {
            co_await check_missing(l);
            load_function_library(look);
            co_await l.until_it_works("k", rules);
            const auto code = co_await l.ready();
            BOOST_TEST(!code, code.message());
        });
        BOOST_TEST(l.limiter.health().state == health_state::ready);
        BOOST_TEST(l.limiter.statistics().script_loads == 0U);
        for (const auto* command : {"eval", "evalsha", "script|load"})
            BOOST_TEST(test::calls_of(look, command) == 0, command);
    }
}

/// A rollout: both versions are loaded while both kinds of processes run.
BOOST_AUTO_TEST_CASE(another_version_is_no_substitute_and_may_be_loaded_beside_it) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"FUNCTION", "LOAD", other_version()});
    auto l = live{server.address(), call_functions};
    l.run([&]() -> asio::awaitable<void> {
        co_await check_missing(l);
        load_function_library(look);
        co_await l.until_it_works("k", rules);
        BOOST_TEST(look.must({"FUNCTION", "LIST"}).elements.size() == 2U);
        look.must({"FUNCTION", "DELETE", "colimit_000000000000"});
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == capacity - 2);
    });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(both_modes_count_on_the_same_keys) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    load_function_library(look);
    auto functions = live{server.address(), call_functions};
    auto scripts = live{server.address()};
    for (auto left = capacity - 1; left > capacity - 7; left -= 2) {
        functions.run([&]() -> asio::awaitable<void> {
            BOOST_TEST((co_await functions.limiter.allow("k", rules)).remaining == left);
        });
        scripts.run([&]() -> asio::awaitable<void> {
            BOOST_TEST((co_await scripts.limiter.allow("k", rules)).remaining == left - 1);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_library_that_is_deleted_refuses_the_server_until_it_is_loaded_again) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    load_function_library(look);
    auto events = std::vector<event>{};
    auto l = live{server.address(), [&events](config& c) {
                      call_functions(c);
                      c.timeout = 50ms;
                      c.on_failure = failure_mode::local;
                      c.advanced.reconnect_delay_max = 1s; // five refusals would open the breaker
                      c.on_event = [&events](const event& e) { events.push_back(e); };
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"FUNCTION", "FLUSH"});
        co_await l.until_code("k", rules, errc::invalid_config);
        co_await check_missing(l);
        load_function_library(look);
        co_await l.until_it_works("k", rules);
        co_await test::until([&] { return test::count(events, event_kind::connected) >= 2; });
    });
    BOOST_TEST(test::count(events, event_kind::breaker_opened) == 0);
    BOOST_TEST(test::count(events, event_kind::connected) == 2);
}

BOOST_AUTO_TEST_CASE(a_call_that_can_wait_is_made_when_the_library_is_loaded_again) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    load_function_library(look);
    auto l = live{server.address(), [](config& c) {
                      call_functions(c);
                      c.timeout = 20s;
                  }};
    test::check_calls_that_wait(
        l, rules, capacity, advice, [&] { look.must({"FUNCTION", "FLUSH"}); },
        [&] { load_function_library(look); });
}

/// As scripts that are flushed. A library may be missing for a moment: when it is replaced by hand,
/// and when all are flushed and restored.
BOOST_AUTO_TEST_CASE(deletions_at_any_moment_cost_no_call_and_charge_none_twice) {
    constexpr auto callers = 64;
    constexpr auto least = 100; // of each, and until the library was missing often enough
    const auto server = test::redis_server{};
    auto look = server.connect();
    load_function_library(look);
    const auto dump = look.must({"FUNCTION", "DUMP"}).text;
    auto l = live{server.address(), [](config& c) {
                      call_functions(c);
                      c.timeout = 25s;
                      c.advanced.batch_size =
                          8; // many batches, so that deletions fall between them
                  }};
    auto stop = std::atomic<bool>{false};
    auto deletions = std::atomic<int>{0};
    auto administrator = std::thread{[&] {
        auto other = server.connect();
        for (auto i = 0; !stop; ++i) {
            if (i % 3 == 0)
                other.must({"FUNCTION", "RESTORE", dump, "REPLACE"}); // no gap
            if (i % 3 == 1)
                other.must({"FUNCTION", "DELETE", library});
            if (i % 3 == 2)
                other.must({"FUNCTION", "FLUSH"});
            if (i % 3 != 0)
                load_function_library(other);
            ++deletions;
            std::this_thread::sleep_for(1ms); // between two deletions, calls are made
        }
    }};
    auto running = callers;
    auto errors = 0;
    auto calls = 0;
    auto last = capacity;
    for (auto i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&, i]() -> asio::awaitable<void> {
                const auto own = "own " + std::to_string(i);
                for (auto n = 0;
                     n < least || deletions <= 50 || l.limiter.statistics().reconnects < 5; ++n) {
                    ++calls;
                    const auto [ec, d] = co_await l.allow("shared", rules);
                    errors += ec || d.remaining >= last ? 1 : 0;
                    last = d.remaining;
                    const auto [own_ec, own_d] = co_await l.allow(own, rules);
                    errors += own_ec || own_d.remaining != capacity - 1 - n ? 1 : 0;
                }
                --running;
            },
            test::rethrow);
    test::run_until(l.context, [&] { return running == 0; });
    stop = true;
    administrator.join();
    BOOST_TEST(errors == 0);
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.peek("shared", rules);
        BOOST_TEST(d.remaining == capacity - calls);
    });
}

BOOST_AUTO_TEST_CASE(a_server_without_the_command_is_refused_with_the_version_it_needs) {
    const auto server = test::redis_server{{.arguments = {"--rename-command", "FCALL", ""}}};
    auto l = live{server.address(), call_functions};
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST((code == errc::auth_failed), code.message());
    });
    check_last(l.limiter, errc::auth_failed, phase::handshake,
               "execution_mode::function needs FCALL, which Redis has since 7.0 and Valkey since "
               "7.2; the server replied: ERR unknown command");
}

BOOST_AUTO_TEST_CASE(a_demoted_server_calls_no_function_and_is_connected_to_anew) {
    const auto server = test::redis_server{};
    auto look = server.connect();
    load_function_library(look);
    auto l = live{server.address(), call_functions};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"REPLICAOF", "127.0.0.1", "1"});
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable), ec.message());
        look.must({"REPLICAOF", "NO", "ONE"});
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_CASE(behind_sentinel_the_next_master_has_the_library_of_the_last_one) {
    auto g = test::sentinel_group{};
    auto look = g.server(0).connect();
    load_function_library(look);
    auto l = live{g.address(), [](config& c) {
                      call_functions(c);
                      c.timeout = 20s;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        look.must({"SET", "last", "write"});
        BOOST_TEST(look.must({"WAIT", "2", "10000"}).integer == 2);
        co_await test::fail_over_calmly(g, l, rules);
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == capacity - 2);
    });
    const auto p = l.limiter.last_error();
    BOOST_TEST((!p || p->code != errc::invalid_config));
}

BOOST_AUTO_TEST_CASE(on_a_cluster_each_node_needs_the_library_and_the_error_names_the_node) {
    auto c = test::redis_cluster{};
    for (std::size_t i = 0; i < c.size(); ++i) {
        if (i == 1)
            continue;
        auto look = c.connect(i);
        load_function_library(look);
    }
    auto l = live{"redis+cluster://" + c.endpoint(0), [](config& s) {
                      call_functions(s);
                      s.timeout = 50ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST((code == errc::invalid_config), code.message());
        BOOST_TEST(test::last_of(l.limiter).text == "node " + c.endpoint(1) + ": " + advice);
        auto look = c.connect(1);
        load_function_library(look);
        for (auto i = 0; i < 100; ++i)
            co_await l.until_it_works("k" + std::to_string(i), rules);
    });
    BOOST_TEST(l.limiter.health().state == health_state::ready);
}

BOOST_AUTO_TEST_SUITE_END()

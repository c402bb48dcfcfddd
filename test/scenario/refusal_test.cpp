// SPDX-License-Identifier: BSL-1.0
//
// Servers that execute nothing for a while, or no writes: the error of the calls, whether their
// connection is kept, and that everything works again afterwards.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_FIXTURE_TEST_SUITE(refusals_for_a_while, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(1'000, 24h * 36'500)};

} // namespace

/// A server without Sentinels that is demoted is asked again at the longest pause.
BOOST_AUTO_TEST_CASE(a_demoted_server_is_unavailable_and_connected_to_anew) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.is_read_only = true;
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable));
        co_await test::pause_for(10s);
        BOOST_TEST(server.connections() >= 2);
        server.is_read_only = false;
        const auto writable = now();
        co_await l.until_it_works("k", rules);
        BOOST_TEST((now() - writable <= config{}.advanced.reconnect_delay_max + 5ms));
    });
}

/// Each condition ends calls at once, charges none, and costs no connection.
BOOST_AUTO_TEST_CASE(a_server_that_executes_nothing_is_unavailable_and_works_again_afterwards) {
    for (const std::string error :
         {"BUSY Redis is busy running a script.", "LOADING Redis is loading the dataset in memory",
          "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."}) {
        auto server = fake_redis{net};
        auto l = live{context, server.url()};
        run([&]() -> asio::awaitable<void> {
            const auto first = co_await l.limiter.allow("k", rules);
            BOOST_TEST(first.remaining == 999);
            server.condition = error;
            const auto begin = now();
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::unavailable), error);
            BOOST_TEST((now() - begin < 1ms));
            server.condition.clear();
            const auto again = co_await l.limiter.allow("k", rules);
            BOOST_TEST(again.remaining == 998);
        });
        BOOST_TEST(server.connections() == 1);
    }
}

/// The module has no holders of slots, so `acquire` needs the commands of the script.
BOOST_AUTO_TEST_CASE(a_user_of_the_module_alone_hears_what_slots_need) {
    const auto places = policy{"places", gcra(1'000, 1h), concurrent(1).lease(1h)};
    auto server = fake_redis{net};
    server.has_module = true;
    auto l = live{context, server.url()};
    const auto acquire = [&](errc expected) -> asio::awaitable<void> {
        auto [ec, got] = co_await l.limiter.acquire("k", places, asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == expected), ec.message());
        BOOST_TEST(!got);
    };
    run([&]() -> asio::awaitable<void> {
        for (const std::string missing : {"evalsha", "zadd"}) {
            server.denied = {missing};
            co_await acquire(errc::auth_failed);
            BOOST_TEST(test::last_of(l.limiter).text.find(missing) != std::string::npos,
                       test::last_of(l.limiter).text);
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.allowed());
        }
        server.denied.clear();
        const auto held = co_await l.limiter.acquire("k", places);
        BOOST_TEST(static_cast<bool>(held));
    });
    BOOST_TEST(server.calls_of("colimit.check") != 0);
}

/// The handshake finds the module, and does not look for the library that slots need.
BOOST_AUTO_TEST_CASE(slots_without_the_function_library_beside_the_module_fail_and_nothing_else) {
    const auto places = policy{"places", gcra(1'000, 1h), concurrent(1).lease(1h)};
    auto server = fake_redis{net};
    server.has_module = true;
    auto l =
        live{context, server.url(), [](config& c) { c.advanced.mode = execution_mode::function; }};
    run([&]() -> asio::awaitable<void> {
        for (auto i = 0; i < 3; ++i) {
            auto [ec, got] =
                co_await l.limiter.acquire("k", places, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec == errc::invalid_config), ec.message());
            const auto problem = test::last_of(l.limiter);
            BOOST_TEST(problem.text.find("lacks the function library") != std::string::npos,
                       problem.text);
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.allowed());
        }
    });
    BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

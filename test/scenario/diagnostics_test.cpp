// SPDX-License-Identifier: BSL-1.0
//
// last_error and health while a server cannot be reached, is silent, or has gone.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <chrono>

BOOST_FIXTURE_TEST_SUITE(diagnostics_of_outages, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::check_last;
using test::last_of;
using test::live;
using test::until_reported;

const auto rules = policy{"p", gcra(100, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(a_port_without_a_server_is_named_and_attempts_are_counted) {
    auto l = live{context, "redis://10.0.9.9:1"};
    BOOST_TEST(l.limiter.health().state == health_state::connecting);
    run([&]() -> asio::awaitable<void> {
        co_await test::until([&] { return last_of(l.limiter).count >= 6; });
        co_await test::until([&] { return l.limiter.health().state == health_state::degraded; });
    });
    check_last(l.limiter, errc::unavailable, phase::connect, "10.0.9.9:1: Connection refused");
    BOOST_TEST((l.limiter.health().last_problem.value().first < last_of(l.limiter).last));
    BOOST_TEST((now() >= 150ms)); // five pauses, of at least 5, 10, 20 ... ms
    BOOST_TEST((now() <= 320ms));
}

BOOST_AUTO_TEST_CASE(a_lost_connection_and_a_silent_server_are_reported) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 50ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        (void)co_await l.allow("k", rules);
        check_last(l.limiter, errc::unavailable, phase::reply, "did not reply within");
        server.thaw();
        co_await l.until_it_works("k", rules);
        server.kill();
        co_await until_reported(l.limiter, "the connection was lost");
        co_await until_reported(l.limiter, "10.0.0.1:6379: Connection refused");
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Real servers that freeze, die, come back and forget their scripts: calls fail meanwhile, and work
// again afterwards. When they do is tested in virtual time, in test/scenario.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(outages_of_real_servers)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

} // namespace

BOOST_AUTO_TEST_CASE(after_a_freeze_and_a_crash_calls_work_again_by_themselves) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 100ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        while (l.limiter.statistics().breaker_openings == 0)
            co_await l.until_code("k", rules, errc::unavailable);
        server.cont();
        co_await l.until_it_works("k", rules);
        server.kill();
        co_await l.until_code("k", rules, errc::unavailable);
        server.start();
        co_await l.until_it_works("k", rules);
    });
    BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
    BOOST_TEST(l.limiter.statistics().reconnects >= 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_has_forgotten_its_scripts_decides_each_call_once) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        for (auto left = 999'999; left > 999'989; --left) {
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.remaining == left);
            look.must({"SCRIPT", "FLUSH"});
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

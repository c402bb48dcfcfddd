// SPDX-License-Identifier: BSL-1.0
//
// The simulated server decides as real ones do, in every execution mode, for every kind of rule.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(fake_redis_servers, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

} // namespace

BOOST_AUTO_TEST_CASE(it_enforces_every_kind_of_rule_in_every_mode) {
    auto server = fake_redis{net};
    server.has_functions = true;
    for (const auto has_module : {false, true})
        for (const auto how : {execution_mode::script, execution_mode::function}) {
            server.has_module = has_module;
            server.keys().clear();
            auto l = live{context, server.url(), [how](config& c) { c.advanced.mode = how; }};
            auto kinds = test::rules_of_every_kind(5, 24h);
            kinds.push_back(sliding_log(5, 24h));
            run([&]() -> asio::awaitable<void> {
                for (const auto& one : kinds)
                    for (auto i = 0; i < 7; ++i) {
                        const auto d = co_await l.limiter.allow("k", one);
                        BOOST_TEST((d.source == (i < 6 ? decision_source::store
                                                       : decision_source::deny_cache)));
                        BOOST_TEST(d.allowed() == (i < 5));
                    }
            });
        }
    BOOST_TEST(server.calls_of("fcall") != 0);
    BOOST_TEST(server.calls_of("evalsha") != 0);
    BOOST_TEST(server.calls_of("colimit.check") != 0);
}

BOOST_AUTO_TEST_CASE(it_enforces_logs_and_windows_with_transactions) {
    auto server = fake_redis{net};
    auto l =
        live{context, server.url(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    run([&]() -> asio::awaitable<void> {
        for (const auto& p : {policy{"log", sliding_log(5, 1h)},
                              policy{"window", fixed_window(5, 1h).from_first()}}) {
            for (auto i = 0; i < 7; ++i) {
                const auto d = co_await l.limiter.allow("k", p);
                BOOST_TEST(d.allowed() == (i < 5));
            }
            co_await test::pause_for(
                61min); // a client knows the clock of a server within bounds only
            const auto d = co_await l.limiter.allow("k", p);
            BOOST_TEST(d.remaining == 4);
        }
    });
    BOOST_TEST(server.calls_of("exec") != 0);
}

BOOST_AUTO_TEST_SUITE_END()

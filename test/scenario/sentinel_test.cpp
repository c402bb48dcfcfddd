// SPDX-License-Identifier: BSL-1.0
//
// A master behind three Sentinels: failovers of every kind, and Sentinels that are dead, silent or
// late.

#include <scenario/callers.hpp>
#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <simulation/sentinel_deployment.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(failovers)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::callers;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

struct watched : scenario::world {
    watched() { group.drops_connections = false; } // which would lose replies

    [[nodiscard]] fake_redis& master() { return static_cast<fake_redis&>(group.master()); }

    simulation::sentinel_deployment group{
        net, [this](simulation::place where, simulation::slot_rules* rules_of_cluster) {
            return std::make_unique<fake_redis>(net, where, rules_of_cluster);
        }};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(calls_are_made_on_the_master_with_every_protocol_and_mode, watched) {
    for (const auto resp : {2, 3})
        for (const auto how : {execution_mode::script, execution_mode::multi}) {
            auto l = live{context, group.address(), [&](config& c) {
                              c.advanced.resp_version = resp;
                              c.advanced.mode = how;
                          }};
            const auto p =
                policy{how == execution_mode::script ? "script" : "multi", sliding_log(2, 1h)};
            run([&]() -> asio::awaitable<void> {
                const auto d = co_await l.limiter.allow("k" + std::to_string(resp), p);
                BOOST_TEST(d.allowed());
                BOOST_TEST((d.source == decision_source::store));
            });
            BOOST_TEST(!l.limiter.last_error());
        }
    BOOST_TEST(master().keys().keys().size() >= 4U);
}

/// One is dead, one silent.
BOOST_FIXTURE_TEST_CASE(one_sentinel_that_lives_is_enough, watched) {
    group.sentinel(0).kill();
    group.sentinel(2).freeze(simulation::never / 4);
    auto l = live{context, group.address()};
    run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST(!ec, ec.message());
    });
    BOOST_TEST((now() <= 1s + 100ms)); // connect_timeout, if the silent one is asked first
}

/// The attempts to reach a dead Sentinel go on all the time, and explain nothing while a master is
/// known.
BOOST_FIXTURE_TEST_CASE(a_dead_sentinel_hides_no_problem_of_the_master, watched) {
    group.sentinel(0).kill();
    auto seen = std::vector<event>{};
    auto l = live{context, group.address(), [&](config& c) {
                      c.timeout = 1s;
                      c.on_failure = failure_mode::allow;
                      c.on_event = [&](const event& e) { seen.push_back(e); };
                  }};
    const auto is_of_sentinel = [](const problem& p) { return p.text.starts_with("Sentinel"); };
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        co_await test::pause_for(10s);
        BOOST_TEST(is_of_sentinel(test::last_of(l.limiter)));

        (void)co_await l.allow("k", rules); // so that the connection is not idle
        master().stop();
        (void)co_await l.allow("k", rules);
        co_await test::until([&] { return test::count(seen, event_kind::fallback_started) == 1; });
        const auto why = to_string(test::first(seen, event_kind::fallback_started));
        BOOST_TEST(test::has(why, "the server did not reply within config::timeout"), why);

        master().kill();
        co_await test::until([&] { return test::count(seen, event_kind::disconnected) == 1; });
        const auto begin = now();
        while (now() - begin < 20s) {
            co_await test::pause_for(10ms);
            BOOST_TEST(!is_of_sentinel(test::last_of(l.limiter)));
        }
        BOOST_TEST(test::count(seen, event_kind::breaker_opened) == 1);
    });
    for (const auto& e : seen)
        BOOST_TEST((!e.cause || !is_of_sentinel(*e.cause)), to_string(e));
    BOOST_TEST(test::first(seen, event_kind::disconnected).cause.has_value());
    BOOST_TEST(test::first(seen, event_kind::breaker_opened).cause.has_value());
}

/// Sentinels name another master within a second; the next decision comes from it, without help.
BOOST_FIXTURE_TEST_CASE(a_killed_master_is_replaced_by_the_one_that_sentinel_names, watched) {
    auto l = live{context, group.address(), [](config& c) { c.timeout = 100ms; }};
    auto all = callers{l, {.rules = rules}};
    run([&]() -> asio::awaitable<void> {
        for (auto round = 0; round < 10; ++round) {
            co_await all.until_decided(100);
            auto& old = group.master();
            const auto begin = now();
            group.crash();
            co_await test::until([&] { return &group.master() != &old; });
            co_await all.until_decided(100);
            BOOST_TEST((now() - begin <= 3s), (now() - begin).count());
            co_await test::pause_for(3s); // until the old one is a replica
        }
        co_await all.finish();
    });
    BOOST_TEST(all.unknown <= 10 * 20); // a call of each caller was in flight
}

/// A planned failover loses no call: those that the old master rejects are made on the new one.
BOOST_FIXTURE_TEST_CASE(an_ordered_failover_ends_no_call_with_an_error, watched) {
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        const auto p = policy{how == execution_mode::script ? "script" : "multi",
                              fixed_window(1'000'000, 24h)};
        auto l = live{context, group.address(), [&](config& c) { c.advanced.mode = how; }};
        auto all = callers{l, {.rules = p}};
        run([&]() -> asio::awaitable<void> {
            for (auto round = 0; round < 5; ++round) {
                co_await all.until_decided(100);
                const auto reconnects = l.limiter.statistics().reconnects;
                const auto begin = now();
                group.order_failover();
                co_await test::until(
                    [&] { return l.limiter.statistics().reconnects > reconnects; });
                co_await all.until_decided(100);
                BOOST_TEST((now() - begin <= 3s), (now() - begin).count());
                co_await test::pause_for(1s);
            }
            co_await all.finish();
        });
        BOOST_TEST(all.unknown == 0);
        BOOST_TEST(all.unavailable == 0);
        BOOST_TEST(all.others == 0);
    }
}

/// The Sentinels have not named another one yet: for a while there is none, and the connection to
/// the old one is kept by the server.
BOOST_FIXTURE_TEST_CASE(calls_that_a_demoted_master_rejects_wait_for_the_new_one, watched) {
    for (const auto how : {execution_mode::script, execution_mode::multi}) {
        const auto p = policy{how == execution_mode::script ? "script" : "multi",
                              fixed_window(1'000'000, 24h)};
        auto l = live{context, group.address(), [&](config& c) { c.advanced.mode = how; }};
        auto all = callers{l, {.rules = p}};
        run([&]() -> asio::awaitable<void> {
            co_await all.until_decided(100);
            auto& old = master();
            old.is_read_only = true;
            co_await test::pause_for(2s);
            BOOST_TEST((l.limiter.health().state != health_state::ready));
            const auto before = all.decided;
            co_await test::pause_for(2s);
            BOOST_TEST(all.decided == before);
            group.order_failover();
            co_await all.until_decided(100);
            co_await all.finish();
            old.is_read_only = false;
            co_await test::pause_for(3s);
        });
        BOOST_TEST(all.unknown == 0);
        BOOST_TEST(all.unavailable == 0);
        BOOST_TEST(all.others == 0);
        BOOST_TEST((l.limiter.last_error()->code == errc::unavailable));
    }
}

/// A master that was named, but does not answer, is an outage, which the failure mode decides.
BOOST_FIXTURE_TEST_CASE(a_master_that_is_silent_from_the_beginning_is_an_outage, watched) {
    master().fall_silent();
    auto l = live{context, group.address(), [](config& c) {
                      c.timeout = 50ms;
                      c.on_failure = failure_mode::allow;
                  }};
    run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST((d.source == decision_source::fail_open));
        BOOST_TEST((now() == 50ms));
        master().cut_until = 0;
        const auto code = co_await l.ready();
        BOOST_TEST(!code, code.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The deny cache of a limiter on a server, beside a second, independent limiter.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(deny_cache_on_redis)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy hourly{"hourly", gcra(2, 1h).burst(2)};

/// Two limiters in one context.
struct two_limiters {
    two_limiters() : a(server().address()), b(server().address()) { look().must({"FLUSHALL"}); }

    [[nodiscard]] static decision allow(live& from, std::string_view key, const policy& p,
                                        const check_options& o = {}) {
        return ask(from, [&](limiter& l) { return l.allow(key, p, o); });
    }
    template<class Ask>
    [[nodiscard]] static decision ask(live& from, Ask verb) {
        auto got = decision{};
        from.run([&]() -> asio::awaitable<void> { got = co_await verb(from.limiter); });
        return got;
    }
    /// Uses up the key's quota, and is denied.
    void exhaust(std::string_view key, const policy& p) {
        auto d = allow(a, key, p);
        while (d.allowed())
            d = allow(a, key, p);
        BOOST_TEST((d.source == decision_source::store));
    }

    live a;
    live b;
};

BOOST_FIXTURE_TEST_CASE(a_refused_question_does_not_reach_the_server_again, two_limiters) {
    exhaust("k", hourly);
    const auto asked = check_calls(look());
    const auto first = allow(a, "k", hourly);
    for (int i = 0; i < 50; ++i) {
        const auto d = allow(a, "k", hourly, {.cost = 1 + i % 2});
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST((d.source == decision_source::deny_cache));
        BOOST_TEST(d.limit == 2);
        BOOST_TEST((d.retry_after > 29min));
        BOOST_TEST((d.retry_after <= 30min));
        BOOST_TEST((d.server_time + d.retry_after == first.server_time + first.retry_after));
    }
    BOOST_TEST(check_calls(look()) == asked);
    const auto s = a.limiter.statistics();
    BOOST_TEST(s.count(decision_source::deny_cache) == 51U);
    BOOST_TEST(s.denied == 52U);
    BOOST_TEST(s.cached_denials == 1U);

    // Others ask, and get the same.
    const auto theirs = allow(b, "k", hourly);
    BOOST_TEST((theirs.source == decision_source::store));
    BOOST_TEST((theirs.server_time + theirs.retry_after == first.server_time + first.retry_after));
    const auto peeked = ask(a, [](limiter& l) { return l.peek("k", hourly); });
    BOOST_TEST((peeked.source == decision_source::store));
}

BOOST_FIXTURE_TEST_CASE(what_is_given_back_here_counts_at_once, two_limiters) {
    exhaust("k", hourly);
    (void)ask(a, [](limiter& l) { return l.refund("k", hourly); });
    BOOST_TEST(allow(a, "k", hourly).outcome == outcome::allowed);
    exhaust("k", hourly);
    (void)ask(a, [](limiter& l) { return l.reset("k", hourly); });
    BOOST_TEST(allow(a, "k", hourly).outcome == outcome::allowed);
    exhaust("k", hourly);
    const policy raised{"hourly", gcra(20, 1h).burst(20)};
    BOOST_TEST(allow(a, "k", raised).outcome == outcome::allowed);
    BOOST_TEST((allow(a, "k", hourly).source == decision_source::store));
}

BOOST_FIXTURE_TEST_CASE(what_is_given_back_elsewhere_counts_when_the_denial_ends, two_limiters) {
    const policy slow{"slow", gcra(1, 700ms).burst(1)};
    auto refused = 0;
    for (auto left = 20; refused == 0 && left > 0; --left) { // a busy machine may need 700 ms
        look().must({"FLUSHALL"});
        exhaust("k", slow);
        (void)ask(b, [&](limiter& l) { return l.reset("k", slow); });
        BOOST_TEST(allow(b, "k", slow).outcome == outcome::allowed);
        (void)ask(b, [&](limiter& l) { return l.reset("k", slow); });
        // Until then, but no longer, it is denied here.
        auto last = allow(a, "k", slow);
        for (; !last.allowed() && last.source == decision_source::deny_cache; ++refused) {
            a.run([] { return pause_for(1ms); });
            last = allow(a, "k", slow);
        }
        BOOST_TEST(last.outcome == outcome::allowed);
        BOOST_TEST((last.source == decision_source::store));
    }
    BOOST_TEST(refused > 0);
}

BOOST_FIXTURE_TEST_CASE(who_waits_as_long_as_he_is_told_is_allowed, two_limiters) {
    const policy quick{"quick", gcra(20, 1s).burst(1), sliding_log(40, 2s).named("log")};
    auto told_by_cache = 0;
    for (int i = 0; i < 10; ++i) {
        auto d = allow(a, "k", quick);
        for (int again = 0; again < 3 && !d.allowed(); ++again)
            d = allow(a, "k", quick);
        if (d.allowed())
            continue;
        told_by_cache += d.source == decision_source::deny_cache ? 1 : 0;
        a.run([&] { return pause_for(d.retry_after); });
        BOOST_TEST(allow(a, "k", quick).outcome == outcome::allowed);
    }
    BOOST_TEST(told_by_cache > 0);
}

BOOST_FIXTURE_TEST_CASE(it_can_be_switched_off, two_limiters) {
    auto without = live{server().address(), [](config& c) { c.advanced.deny_cache = 0; }};
    exhaust("k", hourly);
    for (int i = 0; i < 3; ++i)
        BOOST_TEST((allow(without, "k", hourly).source == decision_source::store));
    BOOST_TEST(without.limiter.statistics().cached_denials == 0U);
}

BOOST_FIXTURE_TEST_CASE(allow_many_is_answered_and_allow_all_is_not, two_limiters) {
    exhaust("k", hourly);
    auto checks = std::array{check_item{"k", hourly}, check_item{"free", hourly}};
    a.run([&]() -> asio::awaitable<void> { co_await a.limiter.allow_many(checks); });
    BOOST_TEST((checks[0].result.source == decision_source::deny_cache));
    BOOST_TEST(checks[1].result.outcome == outcome::allowed);
    const auto all = ask(a, [&](limiter& l) { return l.allow_all(checks); });
    BOOST_TEST(all.outcome == outcome::denied);
    BOOST_TEST((all.source == decision_source::store));
}

BOOST_FIXTURE_TEST_CASE(a_block_is_remembered_and_lifted_by_a_reset, two_limiters) {
    (void)ask(a, [](limiter& l) { return l.block("k", hourly, 1h); });
    BOOST_TEST((allow(a, "k", hourly).source == decision_source::store));
    const auto d = allow(a, "k", hourly);
    BOOST_TEST((d.source == decision_source::deny_cache));
    BOOST_TEST((d.reason == denial_reason::block));
    (void)ask(a, [](limiter& l) { return l.reset("k", hourly); });
    BOOST_TEST(allow(a, "k", hourly).outcome == outcome::allowed);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

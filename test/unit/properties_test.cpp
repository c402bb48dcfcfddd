// SPDX-License-Identifier: BSL-1.0
//
// Properties of every kind of rule whose state is numbers, after any history.

#include <support/decision_text.hpp>
#include <support/key_history.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(properties)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;
using test::rules_of_every_kind;
using us = std::chrono::microseconds;

constexpr auto start = std::int64_t{1'700'000'000'000'000};
constexpr auto year_2100 = std::int64_t{4'102'444'800'000'000};

/// Some calls at some times; the clock does not go back.
void live_a_little(key_history& k, test::rng& roll) {
    const auto& l = k.plan().rules()[0];
    const auto period = std::max<std::int64_t>(l.period * l.unit, 1'000'000);
    for (auto n = roll.between(0, 7); n >= 0; --n) {
        const auto cost = roll.between(0, l.capacity + 1);
        switch (roll.between(0, 4)) {
        case 0:
            k.charge(cost);
            break;
        case 1:
            k.refund(cost);
            break;
        case 2:
            k.now +=
                roll.between(0, 1) == 0 ? roll.between(0, 3 * period - 1) : period - k.now % period;
            break;
        default:
            k.allow(cost, roll.between(0, cost));
        }
    }
}

/// Every kind after many histories.
template<class Check>
void after_any_history(Check check) {
    auto roll = test::rng{42};
    for (const auto limit : {1, 2, 3, 10, 97})
        for (const auto period : {us{1s}, us{7}, us{999'983}, us{1h}})
            for (const auto& r : rules_of_every_kind(limit, period))
                for (int i = 0; i < 25; ++i) {
                    auto k = key_history{policy{"p", r}, start + roll.between(0, 86'399'999'999)};
                    live_a_little(k, roll);
                    BOOST_TEST_CONTEXT(to_string(r) << " at " << k.now << ", turn " << i)
                    check(k, roll);
                }
}

} // namespace

BOOST_AUTO_TEST_CASE(p1_the_first_allow_leaves_the_limit_minus_1) {
    for (const auto count : {1, 2, 3, 7, 99, 641, 999, 1000})
        for (const auto period : {us{1s}, us{1min}, us{7s}, us{1h}, us{24h}, us{1ms}})
            for (const auto epoch : {std::int64_t{0}, start, year_2100, start + 999'999})
                for (const auto& r : rules_of_every_kind(count, period)) {
                    auto k = key_history{policy{"p", r}, epoch};
                    const auto d = k.allow();
                    BOOST_TEST(d.allowed());
                    BOOST_TEST(d.remaining == count - 1);
                }
}

BOOST_AUTO_TEST_CASE(p2_what_is_refused_is_allowed_exactly_at_retry_after_and_not_before) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto cost = roll.between(0, before.plan().rules()[0].capacity);
        auto now = before;
        const auto d = now.allow(cost);
        if (d.allowed())
            return;
        BOOST_TEST(d.retry_after.count() > 0);
        auto early = now;
        early.now += d.retry_after.count() - 1;
        BOOST_TEST(!early.allow(cost).allowed());
        now.now += d.retry_after.count();
        BOOST_TEST(now.allow(cost).allowed());
    });
}

BOOST_AUTO_TEST_CASE(p2_an_overdrawn_key_too_is_allowed_exactly_at_retry_after) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto capacity = before.plan().rules()[0].capacity;
        auto k = before;
        k.charge(capacity + roll.between(0, 2 * capacity - 1) + 1);
        const auto cost = roll.between(0, capacity);
        const auto d = k.peek(cost);
        BOOST_TEST(!d.allowed());
        auto early = k;
        early.now += d.retry_after.count() - 1;
        BOOST_TEST(!early.allow(cost).allowed());
        k.now += d.retry_after.count();
        BOOST_TEST(k.allow(cost).allowed());
    });
}

BOOST_AUTO_TEST_CASE(at_reset_after_all_is_there_again_and_not_before) {
    after_any_history([](const key_history& before, test::rng&) {
        auto k = before;
        const auto d = k.peek(0);
        auto early = k;
        early.now += d.reset_after.count() - 1;
        if (d.reset_after.count() > 0)
            BOOST_TEST(early.peek(0).reset_after.count() == 1);
        k.now += d.reset_after.count();
        BOOST_TEST(k.peek(0).reset_after.count() == 0);
        BOOST_TEST(k.peek(0).remaining == d.limit);
    });
}

BOOST_AUTO_TEST_CASE(p5_a_limit_of_10_lets_10_of_15_through) {
    for (const auto& r : rules_of_every_kind(10, 100ms)) {
        auto k = key_history{policy{"p", r}, start};
        auto allowed = 0;
        for (int i = 0; i < 15; ++i)
            allowed += k.allow().allowed() ? 1 : 0;
        BOOST_TEST(allowed == 10);
    }
}

BOOST_AUTO_TEST_CASE(p6_a_partial_grant_charges_what_it_grants_and_grants_what_fits) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto capacity = before.plan().rules()[0].capacity;
        const auto cost = roll.between(0, 2 * capacity);
        const auto at_least = roll.between(0, std::min(cost, capacity));
        auto part = before;
        const auto room = part.peek(0);
        part = before;
        const auto d = part.allow(cost, at_least);
        if (!d.allowed()) {
            BOOST_TEST(d.granted == 0);
            BOOST_TEST(d.remaining == room.remaining);
            return;
        }
        BOOST_TEST(d.granted >= at_least);
        BOOST_TEST(d.granted == std::min(cost, room.remaining));
        BOOST_TEST(room.remaining - d.remaining == d.granted);
        auto whole = before;
        const auto same = whole.allow(d.granted);
        BOOST_TEST(same == d);
        BOOST_TEST((whole.state.states == part.state.states));
    });
}

BOOST_AUTO_TEST_CASE(p3_a_refusal_and_a_peek_write_nothing) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto capacity = before.plan().rules()[0].capacity;
        // A new key of an `.initially` bucket is written by its first call, whatever it is.
        if (!before.state.exists)
            return;
        auto k = before;
        k.peek(roll.between(0, capacity + 1));
        BOOST_TEST((k.last_effect == core::effect::nothing));
        k = before;
        if (!k.allow(roll.between(0, capacity + 1)).allowed())
            BOOST_TEST((k.last_effect == core::effect::nothing));
    });
}

BOOST_AUTO_TEST_CASE(p15_a_refund_never_lifts_remaining_above_the_limit_and_undoes_a_charge) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto capacity = before.plan().rules()[0].capacity;
        auto k = before;
        const auto balance = k.peek(0).rules[0].balance;
        const auto cost = roll.between(0, capacity);
        k.charge(cost);
        BOOST_TEST(k.refund(cost).rules[0].balance == balance);
        BOOST_TEST(k.refund(roll.between(0, 5 * capacity - 1)).remaining <= capacity);
    });
}

BOOST_AUTO_TEST_CASE(a_peek_says_what_allow_then_does) {
    after_any_history([](const key_history& before, test::rng& roll) {
        const auto cost = roll.between(0, before.plan().rules()[0].capacity + 1);
        auto k = before;
        const auto said = k.peek(cost);
        const auto done = k.allow(cost);
        BOOST_TEST(said.outcome == done.outcome);
        BOOST_TEST(said.granted == done.granted);
        BOOST_TEST(said.retry_after.count() == done.retry_after.count());
    });
}

BOOST_AUTO_TEST_CASE(what_goes_through_a_store_between_calls_is_all_that_matters) {
    after_any_history([](const key_history& before, test::rng& roll) {
        auto kept = before;
        auto stored = before;
        stored.forget_flags_between_calls = true;
        const auto capacity = before.plan().rules()[0].capacity;
        for (int i = 0; i < 4; ++i) {
            const auto cost = roll.between(0, capacity);
            BOOST_TEST(kept.allow(cost) == stored.allow(cost));
            kept.now += roll.between(0, 999'999);
            stored.now = kept.now;
            BOOST_TEST(kept.peek(cost) == stored.peek(cost));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The guarantees of the in-process store when there are more keys than states.

#include "memory_clocked_store.hpp"

#include <support/unit_test.hpp>

#include <algorithm>

BOOST_AUTO_TEST_SUITE(memory_bounds)

using namespace std::chrono_literals;
using colimit::gcra;
using colimit::policy;
using colimit::core::verb;
using colimit::test::clocked_store;

namespace {

const policy hourly{"hourly", gcra(5, 1h)};
const policy quick{"quick", gcra(5, 1s)};
const policy two_rules{"two", gcra(5, 1s), gcra(20, 1h).named("hour")};

} // namespace

BOOST_AUTO_TEST_CASE(a_flood_takes_no_more_states_than_there_are) {
    for (const std::size_t capacity : {1U, 2U, 3U, 7U, 1000U, 40'000U}) {
        auto store = clocked_store{capacity};
        auto most = std::size_t{0};
        for (int i = 0; i < 60'000; ++i) {
            (void)store.allow(std::to_string(i), i % 2 == 0 ? hourly : two_rules);
            most = std::max(most, store.states());
        }
        BOOST_TEST(most <= capacity);
        BOOST_TEST(most + 1 >= capacity);
        BOOST_TEST(store.statistics().capacity == capacity);
        BOOST_TEST(store.statistics().overflowed > 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_limited_key_stays_limited_through_a_flood) {
    auto store = clocked_store{1000};
    store.exhaust("victim", hourly);
    for (int round = 0; round < 10; ++round) {
        store.flood("flood" + std::to_string(round) + ":", 20'000, round % 2 == 0 ? quick : hourly);
        BOOST_TEST(!store.allow("victim", hourly).allowed());
        store.advance(1min);
    }
    store.advance(2min);
    BOOST_TEST(store.allow("victim", hourly).allowed()); // its own recovery is the only one
    BOOST_TEST(!store.allow("victim", hourly).allowed());
}

BOOST_AUTO_TEST_CASE(a_key_limited_in_a_shared_state_stays_limited_when_it_gets_a_place) {
    auto store = clocked_store{10};
    store.flood("early", 10, quick);
    store.exhaust("victim", hourly);
    BOOST_TEST(store.statistics().overflowed > 0U);
    store.advance(10s); // the early ones recover, and there is room
    (void)store.allow("another", quick);
    BOOST_TEST(store.statistics().evicted > 0U);
    BOOST_TEST(!store.allow("victim", hourly).allowed());
    store.advance(12min); // one token
    BOOST_TEST(store.allow("victim", hourly).allowed());
    const auto overflowed = store.statistics().overflowed;
    BOOST_TEST(!store.allow("victim", hourly).allowed());
    BOOST_TEST(store.statistics().overflowed == overflowed); // it has a place of its own now
}

/// Each charge of a shared state begins its period again, so it ends later than that of a key
/// alone. What is charged between these ends counts for a whole period, too.
BOOST_AUTO_TEST_CASE(a_period_that_was_shared_does_not_end_what_belongs_to_the_next_one) {
    for (const auto& p : {policy{"first", colimit::fixed_window(5, 1h).from_first()},
                          policy{"steps", colimit::token_bucket(5, 5, 1h).stepwise()}}) {
        auto store = clocked_store{1};
        store.flood("full", 1, quick);
        BOOST_TEST(store.allow("k", p).allowed());
        store.advance(30min); // there is room
        BOOST_TEST(store.allow("k", p).allowed());
        store.advance(40min); // alone, its second period begins
        BOOST_TEST(store.allow("k", p, 3).allowed());
        store.advance(25min);
        BOOST_TEST(!store.allow("k", p, 3).allowed());
        store.advance(35min);
        BOOST_TEST(store.allow("k", p, 3).allowed());
    }
}

BOOST_AUTO_TEST_CASE(a_newcomer_is_answered_in_a_full_store_and_recovers_with_the_clock) {
    auto store = clocked_store{100};
    store.flood("full", 100, hourly);
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(store.allow("newcomer", hourly).allowed());
    const auto refused = store.allow("newcomer", hourly);
    BOOST_TEST(!refused.allowed());
    BOOST_TEST((refused.retry_after == 12min));
    store.advance(refused.retry_after - 1us);
    BOOST_TEST(!store.allow("newcomer", hourly).allowed());
    store.advance(1us);
    BOOST_TEST(store.allow("newcomer", hourly).allowed());
}

BOOST_AUTO_TEST_CASE(a_flood_that_never_ends_does_not_lock_newcomers_out) {
    auto store = clocked_store{100};
    auto served = 0;
    for (int minute = 0; minute < 240; ++minute) {
        store.flood(std::to_string(minute) + ":", 2'000, hourly);
        store.advance(1min);
        served += store.allow("newcomer" + std::to_string(minute), hourly).allowed();
    }
    BOOST_TEST(served > 0);
}

BOOST_AUTO_TEST_CASE(only_recovered_states_make_room) {
    auto store = clocked_store{64};
    for (int i = 0; i < 32; ++i) {
        store.exhaust("long" + std::to_string(i), hourly);
        store.exhaust("short" + std::to_string(i), quick);
    }
    BOOST_TEST(store.states() == 64U);
    store.advance(1s);
    store.flood("new", 32, hourly);
    BOOST_TEST(store.statistics().evicted == 32U);
    BOOST_TEST(store.statistics().overflowed == 0U);
    for (int i = 0; i < 32; ++i) {
        BOOST_TEST(!store.allow("long" + std::to_string(i), hourly).allowed());
        BOOST_TEST(store.remaining("new" + std::to_string(i), hourly) == 4);
    }
}

BOOST_AUTO_TEST_CASE(keys_that_are_gone_leave_without_a_timer) {
    auto store = clocked_store{100'000};
    store.flood("gone", 10'000, quick);
    store.advance(1min);
    store.flood("new", 10'000, hourly);
    BOOST_TEST(store.statistics().evicted == 10'000U);
    BOOST_TEST(store.states() == 10'000U);
}

BOOST_AUTO_TEST_CASE(a_key_that_shares_a_state_cannot_give_back_what_is_not_its_own) {
    auto store = clocked_store{1};
    (void)store.allow("first", hourly);
    store.exhaust("newcomer", hourly);
    for (const auto verb : {verb::refund, verb::reset}) {
        const auto answer = store.ask(verb, "newcomer", hourly, verb == verb::reset ? 0 : 3);
        BOOST_TEST(answer.remaining == 0);
        BOOST_TEST(!store.allow("newcomer", hourly).allowed());
    }
}

BOOST_AUTO_TEST_CASE(a_charge_counts_even_without_a_place) {
    auto store = clocked_store{1};
    (void)store.allow("first", hourly);
    BOOST_TEST(store.ask(verb::charge, "newcomer", hourly, 7).rules[0].balance == -2);
    BOOST_TEST(store.ask(verb::peek, "newcomer", hourly, 0).rules[0].balance == -2);
    store.advance(24min);
    BOOST_TEST(!store.allow("newcomer", hourly).allowed());
    store.advance(12min);
    BOOST_TEST(store.allow("newcomer", hourly).allowed());
}

// More policies than a shared state has slots: the debt of those that were evicted is recorded as a
// time only, until which keys of any policy may owe everything.
BOOST_AUTO_TEST_CASE(a_charge_counts_where_other_policies_have_evicted_each_other) {
    auto store = clocked_store{1};
    const policy whole_day{"whole_day", gcra(1, 24h)};
    (void)store.allow("the only place", whole_day);
    store.advance(9s);
    for (int i = 0; i < 20; ++i)
        store.flood("k", 10'000, policy{"p" + std::to_string(i), gcra(1, 2s)});
    store.advance(900ms); // the window ends before these recover
    const policy counter{"counter", colimit::sliding_window(7, 10s)};
    for (int i = 0; i < 100; ++i)
        (void)store.ask(verb::charge, std::to_string(i), counter, 5);
    store.advance(1'600ms); // they have recovered; 0.85 * 5 of the window before are left
    for (int i = 0; i < 100; ++i)
        BOOST_TEST(store.remaining(std::to_string(i), counter) <= 2);
}

BOOST_AUTO_TEST_CASE(a_key_whose_policy_grew_without_room_stays_limited) {
    auto store = clocked_store{2};
    const auto grown = policy{"hourly", gcra(5, 1h), gcra(100, 1min).named("minute")};
    store.exhaust("key", hourly);
    store.exhaust("other", hourly);
    store.advance(12min);
    BOOST_TEST(store.allow("key", grown).allowed()); // the one token that came back
    BOOST_TEST(store.states() == 1U);                // it gave up its place and shares a state
    BOOST_TEST(!store.allow("key", grown).allowed());
    BOOST_TEST(store.remaining("key", grown) == 0);
}

BOOST_AUTO_TEST_CASE(keys_that_move_into_a_shared_state_bring_their_debt) {
    auto store = clocked_store{20};
    const auto grown = policy{"hourly", gcra(5, 1h), gcra(100, 1min).named("minute")};
    for (int i = 0; i < 20; ++i)
        (void)store.allow(std::to_string(i), hourly, 5);
    store.flood("shares", 1'500, hourly); // most shared states owe something, few owe all
    store.advance(12min);
    store.flood("shares", 1'500, hourly);
    for (int i = 0; i < 20; ++i) {
        (void)store.allow(std::to_string(i), grown);
        BOOST_TEST(!store.allow(std::to_string(i), grown).allowed());
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_looks_for_room_does_not_evict_itself) {
    auto store = clocked_store{2};
    const auto grown = policy{"quick", gcra(5, 1s), gcra(20, 1h).named("hour")};
    (void)store.allow("key", quick);
    store.exhaust("other", hourly);
    store.advance(10s);
    BOOST_TEST(store.allow("key", grown, 5).allowed());
    BOOST_TEST(store.statistics().evicted == 0U);
    BOOST_TEST(!store.allow("key", grown).allowed());
    BOOST_TEST(!store.allow("other", hourly).allowed());
}

BOOST_AUTO_TEST_CASE(while_there_is_room_a_recovered_key_keeps_its_place_for_a_second) {
    auto store = clocked_store{1'000};
    (void)store.allow("key", quick);
    store.advance(1100ms); // it recovered 900 ms ago
    store.flood("new", 100, hourly);
    BOOST_TEST(store.statistics().evicted == 0U);
    store.advance(200ms);
    store.flood("newer", 100, hourly);
    BOOST_TEST(store.statistics().evicted == 1U);
}

BOOST_AUTO_TEST_CASE(states_from_the_future_make_room_after_the_clock_was_set_back) {
    auto store = clocked_store{50};
    store.flood("future", 50, quick);
    store.advance(-std::chrono::hours{24 * 365});
    (void)store.allow("newcomer", quick);
    BOOST_TEST(store.statistics().overflowed == 1U);
    for (int i = 0; i < 10; ++i)
        (void)store.allow("looks for room" + std::to_string(i), quick);
    store.advance(3s);
    store.flood("later", 50, quick);
    BOOST_TEST(store.statistics().evicted == 50U);
}

BOOST_AUTO_TEST_CASE(a_clock_set_back_mints_nothing) {
    auto store = clocked_store{3};
    for (const auto* key : {"a", "b", "c"})
        store.exhaust(key, hourly);
    store.exhaust("shares", hourly);
    store.advance(-std::chrono::hours{48});
    for (int i = 0; i < 100; ++i)
        (void)store.allow(std::to_string(i), hourly);
    for (const auto* key : {"a", "b", "c", "shares"})
        BOOST_TEST(!store.allow(key, hourly).allowed());
    store.advance(12min + 1s);
    for (const auto* key : {"a", "b", "c", "shares"})
        BOOST_TEST(store.allow(key, hourly).allowed());
}

BOOST_AUTO_TEST_SUITE_END()

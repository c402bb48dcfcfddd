// SPDX-License-Identifier: BSL-1.0
//
// Logs, sketches and blocks in the in-process store: their memory, their behaviour in a full store,
// and when they are deleted.

#include "memory_clocked_store.hpp"

#include <support/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

BOOST_AUTO_TEST_SUITE(memory_large)

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using test::clocked_store;

namespace {

const policy hourly{"hourly", gcra(5, 1h)};
const policy logged{"logged", sliding_log(1'000, 1min)};
const policy members{"members", distinct(20, 1h)};

/// One call with a member.
decision with_member(clocked_store& store, verb v, std::string_view key, const policy& p,
                     const std::string& member) {
    return store.ask({.verb = v,
                      .cost = 1,
                      .at_least = 1,
                      .now = store.now(),
                      .member = member,
                      .has_member = true},
                     key, p);
}

/// Returns how many of the members `from` to `to` are let in.
[[nodiscard]] int let_in(clocked_store& store, std::string_view key, const policy& p, int from,
                         int to) {
    auto count = 0;
    for (int i = from; i < to; ++i)
        count += with_member(store, verb::allow, key, p, std::to_string(i)).allowed();
    return count;
}

decision block(clocked_store& store, std::string_view key, const policy& p,
               std::chrono::microseconds length) {
    return store.ask(
        {.verb = verb::block, .cost = length.count(), .at_least = 0, .now = store.now()}, key, p);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_log_takes_states_as_it_grows_and_gives_them_back) {
    auto store = clocked_store{1'000};
    (void)store.allow("k", logged);
    BOOST_TEST(store.states() == 2U);
    for (int i = 0; i < 99; ++i)
        (void)store.allow("k", logged);
    BOOST_TEST(store.states() == 2U + 128U / 4U);
    (void)store.ask(verb::refund, "k", logged, 99);
    BOOST_TEST(store.remaining("k", logged) == 999);
    (void)store.ask(verb::reset, "k", logged, 0);
    BOOST_TEST(store.states() == 0U);
    (void)store.allow("k", logged);
    store.advance(2min);
    store.flood("new", 10, hourly);
    BOOST_TEST(store.statistics().evicted == 2U);
    BOOST_TEST(store.states() == 10U);
}

BOOST_AUTO_TEST_CASE(a_full_refund_of_a_log_forgets_the_key) {
    auto store = clocked_store{1'000};
    (void)store.allow("k", logged, 3);
    (void)store.ask(verb::refund, "k", logged, 3);
    BOOST_TEST(store.states() == 0U);
}

BOOST_AUTO_TEST_CASE(logs_of_different_windows_are_one) {
    const auto p = policy{"p", sliding_log(100, 1s).named("s"), sliding_log(100, 1h).named("h"),
                          gcra(100, 1s)};
    auto store = clocked_store{1'000};
    (void)store.allow("k", p);
    BOOST_TEST(store.states() == 3U); // the bucket, the log in two parts
}

BOOST_AUTO_TEST_CASE(a_log_stays_when_its_rules_are_renamed_and_goes_with_the_last) {
    auto store = clocked_store{1'000};
    (void)store.allow("k", policy{"p", sliding_log(10, 1h).named("a")}, 4);
    BOOST_TEST(store.remaining("k", policy{"p", sliding_log(9, 2h).named("b")}) == 5);
    (void)store.allow("k", policy{"p", gcra(10, 1h)});
    BOOST_TEST(store.states() == 1U);
    BOOST_TEST(store.remaining("k", policy{"p", sliding_log(10, 1h).named("a")}) == 10);
}

BOOST_AUTO_TEST_CASE(a_flood_of_logs_takes_no_more_states_than_there_are) {
    for (const std::size_t capacity : {1U, 2U, 3U, 50U, 1'000U}) {
        auto store = clocked_store{capacity};
        auto most = std::size_t{0};
        auto granted = 0;
        for (int i = 0; i < 20'000; ++i) {
            granted += store.allow(std::to_string(i % 97), logged).allowed();
            most = std::max(most, store.states());
            store.advance(1ms);
        }
        BOOST_TEST(most <= capacity);
        BOOST_TEST(granted > 1'000);
    }
}

/// It keeps its events for the longest period of all versions of its policy, so it is full.
BOOST_AUTO_TEST_CASE(a_full_log_of_a_longer_period_stays_where_there_is_no_room_for_a_larger_one) {
    const policy longer{"p", sliding_log(1'000, 1h)};
    const policy shorter{"p", sliding_log(1'000, 1s)};
    auto store = clocked_store{50};
    for (int i = 0; i < 16; ++i, store.advance(1ms))
        (void)store.allow("k", longer);
    for (int i = 0; i < 50; ++i)
        (void)store.ask(verb::charge, "full" + std::to_string(i), hourly, 1'000);
    store.advance(2s);
    BOOST_TEST(store.allow("k", shorter).allowed());
    BOOST_TEST(store.states() == 50U);
    BOOST_TEST(store.remaining("k", shorter) == 998); // two of the events are one
    BOOST_TEST(store.remaining("k", longer) == 983);
}

BOOST_AUTO_TEST_CASE(a_log_is_kept_for_a_longer_period_though_a_shorter_one_was_asked_last) {
    const policy longer{"p", sliding_log(5, 1h)};
    const policy shorter{"p", sliding_log(50, 1s)};
    auto store = clocked_store{10};
    (void)store.allow("k", longer, 5);
    store.advance(2s);
    BOOST_TEST(store.allow("k", shorter).allowed());
    store.advance(5s);
    for (int i = 0; i < 50; ++i)
        (void)store.ask(verb::charge, "new" + std::to_string(i), hourly, 1'000);
    BOOST_TEST(!store.allow("k", longer).allowed());
}

BOOST_AUTO_TEST_CASE(a_log_without_room_never_lets_more_through_than_its_limit) {
    const auto p = policy{"p", sliding_log(50, 1s)};
    auto store = clocked_store{10};
    auto alone = clocked_store{1'000};
    for (int i = 0; i < 8; ++i)
        (void)store.ask(verb::charge, "full" + std::to_string(i), hourly, 1'000);
    auto granted = 0;
    for (int i = 0; i < 5'000; ++i, store.advance(1ms), alone.advance(1ms)) {
        const auto d = store.allow("k", p);
        const auto a = alone.allow("k", p);
        granted += d.allowed();
        BOOST_REQUIRE((a.allowed() || !d.allowed() || d.remaining <= 50));
    }
    BOOST_TEST(store.states() <= 10U);
    BOOST_TEST(granted >= 150); // it is stricter: three windows of five seconds at least
    BOOST_TEST(granted <= 250);
}

BOOST_AUTO_TEST_CASE(a_shared_log_is_all_used_at_its_newest_time) {
    const auto p = policy{"p", sliding_log(3, 1h)};
    auto store = clocked_store{1};
    (void)store.ask(verb::charge, "full", hourly, 1'000);
    BOOST_TEST(store.allow("k", p).allowed());
    store.advance(30min);
    BOOST_TEST(store.allow("k", p, 2).allowed());
    const auto refused = store.allow("k", p);
    BOOST_TEST(!refused.allowed());
    BOOST_TEST((refused.retry_after == 1h));
    BOOST_TEST(store.statistics().overflowed == 3U);
    store.advance(1h);
    BOOST_TEST(store.allow("k", p, 3).allowed());
}

BOOST_AUTO_TEST_CASE(a_sketch_lets_in_its_limit_and_whoever_was_in) {
    auto store = clocked_store{1'000};
    BOOST_TEST(let_in(store, "k", members, 0, 100) == 20);
    BOOST_TEST(let_in(store, "k", members, 0, 20) == 20);
    const auto refused = with_member(store, verb::allow, "k", members, "21");
    BOOST_TEST(refused.remaining == 0);
    BOOST_TEST((refused.retry_after == refused.reset_after));
    BOOST_TEST(with_member(store, verb::peek, "k", members, "3").allowed());
    BOOST_TEST(!with_member(store, verb::peek, "k", members, "33").allowed());
    store.advance(refused.retry_after);
    BOOST_TEST(let_in(store, "k", members, 50, 100) == 20);
}

BOOST_AUTO_TEST_CASE(a_sketch_takes_states_as_it_grows_and_gives_them_back) {
    const auto p = policy{"p", distinct(1'000'000, 1h)};
    auto store = clocked_store{1'000};
    BOOST_TEST(let_in(store, "k", p, 0, 11) == 11);
    BOOST_TEST(store.states() == 2U);
    BOOST_TEST(let_in(store, "k", p, 11, 10'000) == 9'989);
    BOOST_TEST(store.states() == 196U);
    store.advance(1h);
    BOOST_TEST(let_in(store, "k", p, 0, 1) == 1);
    BOOST_TEST(store.states() == 2U);
    (void)store.ask(verb::reset, "k", p, 0);
    BOOST_TEST(store.states() == 0U);
}

BOOST_AUTO_TEST_CASE(a_charged_member_counts_above_the_limit) {
    auto store = clocked_store{1'000};
    for (int i = 0; i < 25; ++i)
        (void)with_member(store, verb::charge, "k", members, std::to_string(i));
    BOOST_TEST(store.ask(verb::peek, "k", members, 0).rules[0].balance == -5);
    BOOST_TEST(store.ask(verb::refund, "k", members, 25).rules[0].balance == -5);
}

BOOST_AUTO_TEST_CASE(without_room_a_sketch_takes_no_new_member_until_its_window_ends) {
    auto store = clocked_store{3};
    BOOST_TEST(let_in(store, "k", members, 0, 11) == 11);
    (void)store.ask(verb::charge, "full", hourly, 1'000);
    BOOST_TEST(let_in(store, "k", members, 11, 20) == 0);
    BOOST_TEST(let_in(store, "k", members, 0, 11) == 11); // these need no room
    const auto refused = with_member(store, verb::allow, "newcomer", members, "x");
    BOOST_TEST(!refused.allowed());
    BOOST_TEST((refused.retry_after > 0us && refused.retry_after <= 1h));
    BOOST_TEST(store.states() == 3U);
}

BOOST_AUTO_TEST_CASE(a_charge_that_a_sketch_has_no_room_for_refuses_everybody_until_the_end) {
    auto store = clocked_store{3};
    BOOST_TEST(let_in(store, "k", members, 0, 11) == 11);
    (void)store.ask(verb::charge, "full", hourly, 1'000);
    const auto charged = with_member(store, verb::charge, "k", members, "x");
    BOOST_TEST(charged.rules[0].balance == -1);
    BOOST_TEST(let_in(store, "k", members, 0, 11) == 0);
    store.advance(charged.reset_after);
    BOOST_TEST(let_in(store, "k", members, 0, 11) == 11);
}

BOOST_AUTO_TEST_CASE(a_block_refuses_until_its_end_and_a_reset_lifts_it) {
    for (const auto& p : {hourly, logged, members}) {
        auto store = clocked_store{100};
        const auto blocked = block(store, "k", p, 10min);
        BOOST_TEST((blocked.retry_after == 10min));
        BOOST_TEST((blocked.reason == denial_reason::block));
        store.advance(10min - 1us);
        BOOST_TEST(!with_member(store, verb::allow, "k", p, "m").allowed());
        store.advance(1us);
        BOOST_TEST(with_member(store, verb::allow, "k", p, "m").allowed());
        (void)block(store, "k", p, 10min);
        (void)block(store, "k", p, 5min); // the longer one stays
        BOOST_TEST((with_member(store, verb::allow, "k", p, "m").retry_after == 10min));
        (void)store.ask(verb::reset, "k", p, 0);
        BOOST_TEST(with_member(store, verb::allow, "k", p, "m").allowed());
    }
}

BOOST_AUTO_TEST_CASE(a_block_survives_a_flood_and_is_not_lost_without_a_place) {
    auto store = clocked_store{50};
    (void)block(store, "early", hourly, 24h);
    store.flood("flood", 1'000, hourly);
    (void)block(store, "late", hourly, 24h);
    (void)block(store, "flood1", hourly, 24h);
    for (int hour = 0; hour < 23; ++hour) {
        store.advance(1h);
        store.flood("flood" + std::to_string(hour), 200, hourly);
        BOOST_TEST(!store.allow("early", hourly).allowed());
        BOOST_TEST(!store.allow("late", hourly).allowed());
        BOOST_TEST(!store.allow("flood1", hourly).allowed());
    }
}

BOOST_AUTO_TEST_CASE(windows_in_the_future_are_kept_as_long_as_they_may_count) {
    const auto p = policy{"p", fixed_window(5, 1h), sliding_window(9, 1h)};
    const auto first = policy{"first", fixed_window(5, 1h).from_first()};
    auto store = clocked_store{6};
    store.exhaust("a", p);
    store.exhaust("b", p);
    store.exhaust("c", first);
    store.advance(-std::chrono::hours{24 * 365});
    for (int i = 0; i < 100; ++i)
        (void)store.allow("looks for room" + std::to_string(i), hourly);
    BOOST_TEST(!store.allow("a", p).allowed());
    BOOST_TEST(!store.allow("b", p).allowed());
    BOOST_TEST(!store.allow("c", first).allowed());
    for (int i = 0; i < 100; ++i)
        (void)store.allow("looks for room" + std::to_string(i), hourly);
    store.advance(5h);
    BOOST_TEST(store.allow("a", p).allowed());
    BOOST_TEST(store.allow("c", first).allowed());
}

BOOST_AUTO_TEST_CASE(windows_and_logs_from_the_future_make_room_in_their_time) {
    for (const auto& p : {policy{"w", fixed_window(5, 1s)}, policy{"c", sliding_window(5, 1s)},
                          policy{"l", sliding_log(5, 1s)}, policy{"d", distinct(5, 1s)}}) {
        auto store = clocked_store{50};
        for (int i = 0; i < 60; ++i)
            (void)with_member(store, verb::allow, "future" + std::to_string(i), p, "m");
        store.advance(-std::chrono::hours{24 * 365});
        for (int i = 0; i < 10; ++i)
            (void)store.allow("looks for room" + std::to_string(i), hourly);
        store.advance(5s);
        store.flood("later", 50, hourly);
        BOOST_TEST(store.statistics().evicted >= 40U, p.name());
    }
}

BOOST_AUTO_TEST_CASE(an_initial_bucket_is_kept_until_it_would_start_full_anyway) {
    const auto p = policy{"p", token_bucket(10, 1, 1s).initially(0)};
    auto store = clocked_store{1};
    BOOST_TEST(!store.allow("k", p).allowed());
    BOOST_TEST(store.states() == 1U);
    store.advance(19s); // full for nine seconds, and it takes ten to fill
    store.flood("new", 10, hourly);
    BOOST_TEST(store.remaining("k", p) == 10);
    store.advance(2s);
    store.flood("new", 10, hourly);
    BOOST_TEST(store.statistics().evicted == 1U);
}

/// The denial's log is stored, and with it the states as they are stored.
BOOST_AUTO_TEST_CASE(what_another_version_has_left_is_repaid_while_denials_are_recorded) {
    const auto logs = sliding_log(1'000, 1h).named("log").count_denied();
    const policy high{"p", gcra(20, 1min), logs};
    const policy low{"p", gcra(10, 1min), logs};
    auto store = clocked_store{100};
    (void)store.allow("k", high, 20);
    BOOST_TEST(!store.allow("k", low).allowed());
    store.advance(6s);
    BOOST_TEST(store.allow("k", low).allowed());
    BOOST_TEST(!store.allow("k", low).allowed());
}

BOOST_AUTO_TEST_SUITE_END()

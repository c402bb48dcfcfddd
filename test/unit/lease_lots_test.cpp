// SPDX-License-Identifier: BSL-1.0
//
// Tokens of several leases of a key: which are spent, which lapse when, and which calls they still
// decide when the store does not.

#include "lease_table_bench.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(lease_lots)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::fake_operation;

const auto leased = policy{"p", gcra(1'000, 1s)}.with_leases(100ms);
constexpr hash::digest key{.low = 0, .high = 2};
/// A lease ends so long after it was sent.
constexpr std::int64_t length = 100'000 - 100 - 1;

[[nodiscard]] detail::call_request cost(std::int64_t n) {
    return {.cost = n, .at_least = n};
}

struct fixture : test::lease_table_bench {
    fixture() { // so many calls that a lease is worth it for any later one
        auto op = fake_operation{cost(10'000)};
        BOOST_TEST(!start(op, leased, key));
        allow(op, 0, 100'000);
    }
    using lease_table_bench::start;
    bool start(fake_operation& op) { return start(op, leased, key); }
    bool spends(std::int64_t tokens) {
        auto op = fake_operation{cost(tokens)};
        return start(op);
    }
    /// Takes leases of so many tokens, one every ten milliseconds.
    void take_each(std::initializer_list<std::int64_t> leases) {
        for (const auto tokens : leases) {
            take(tokens, leased, key);
            now += 10'000;
        }
    }
    /// Returns what is held at a time.
    std::uint64_t held_at(std::int64_t time) {
        now = time;
        (void)spends(1'000'000);
        return held();
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(leases_before_the_last_one_end_with_the_first_of_them, fixture) {
    take_each({20, 30, 60});
    BOOST_TEST(held_at(start_time + length - 1) == 110U);
    BOOST_TEST(held_at(start_time + length) == 60U);
    BOOST_TEST(held_at(start_time + 20'000 + length - 1) == 60U);
    BOOST_TEST(held_at(start_time + 20'000 + length) == 0U);
    BOOST_TEST(counted().leases == 3U);
}

BOOST_FIXTURE_TEST_CASE(a_lease_that_was_spent_ends_no_other_one, fixture) {
    take_each({20, 30});
    BOOST_TEST(spends(20));
    take_each({60});
    BOOST_TEST(held_at(start_time + 10'000 + length - 1) == 90U);
    BOOST_TEST(held_at(start_time + 10'000 + length) == 60U);
}

BOOST_FIXTURE_TEST_CASE(a_short_lease_after_a_long_one_ends_first, fixture) {
    take_each({20});
    now = start_time;
    auto op = fake_operation{cost(30)};
    BOOST_TEST(!start(op));
    allow(op, 0);
    op.lease.granted = 1;
    op.lease.is_asking = true;
    op.sent_at = start_time - 5'000;
    table.note(op, now);
    take_each({60});
    BOOST_TEST(held_at(start_time - 5'000 + length - 1) == 110U);
    BOOST_TEST(held_at(start_time - 5'000 + length) == 60U);
}

BOOST_FIXTURE_TEST_CASE(a_single_token_lapses_like_others, fixture) {
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    allow(op, 1);
    now += 1;
    take_each({30});
    BOOST_TEST(held_at(start_time + length - 1) == 31U);
    BOOST_TEST(held_at(start_time + length) == 30U);
    BOOST_TEST(counted().lease_tokens_lapsed == 1U);
}

BOOST_FIXTURE_TEST_CASE(what_is_held_is_not_asked_for_again, fixture) {
    take_each({20});
    auto op = fake_operation{cost(30)};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.further_calls == test::calls_of_lease(10'000 + 20 + 30, 30, 20));
}

BOOST_FIXTURE_TEST_CASE(a_lease_that_has_ended_when_its_reply_comes_is_not_held, fixture) {
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    BOOST_TEST(op.lease.is_asking);
    op.result.outcome = outcome::allowed;
    detail::access::append(op.result.rules) = {.limit = 900, .balance = 800};
    op.lease.granted = 7;
    op.sent_at = start_time;
    table.note(op, start_time + length);
    BOOST_TEST(counted().lease_tokens_lapsed == 7U);
}

BOOST_FIXTURE_TEST_CASE(what_is_left_is_asked_for_or_else_the_last_token_is_spent, fixture) {
    for (const auto& [remaining, expected] : {std::pair{3, 0}, std::pair{4, 1}}) {
        auto op = fake_operation{};
        BOOST_TEST(!start(op));
        allow(op, 16, 16 + remaining);
        BOOST_TEST(spends(14));
        auto asks = fake_operation{}; // would leave less than an eighth
        BOOST_TEST(start(asks) == (expected == 0));
        BOOST_TEST(asks.lease.further_calls == static_cast<std::uint32_t>(expected));
        if (expected == 0) {
            BOOST_TEST(spends(1));
            BOOST_TEST(!spends(1));
        }
        reset(leased, key);
        auto last = fake_operation{};
        BOOST_TEST(!start(last));
        allow(last, 0, 100'000);
    }
}

BOOST_FIXTURE_TEST_CASE(a_call_without_a_cost_asks_the_store, fixture) {
    take_each({20});
    BOOST_TEST(!spends(0));
    BOOST_TEST(held() == 20U);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_fails_leaves_what_is_known_of_the_store, fixture) {
    auto failed = fake_operation{};
    BOOST_TEST(!start(failed));
    BOOST_TEST(failed.lease.is_asking);
    failed.ec = errc::outcome_unknown;
    failed.lease.granted = 5;
    table.note(failed, now);
    BOOST_TEST(counted().lease_tokens_taken == 0U);
    auto next = fake_operation{};
    BOOST_TEST(!start(next));
    BOOST_TEST(next.lease.further_calls > 1'000U); // of the 100,000 that remained
}

BOOST_FIXTURE_TEST_CASE(only_a_call_that_asked_ends_the_question, fixture) {
    auto first = fake_operation{};
    BOOST_TEST(!start(first));
    allow(first, 0, 100'000);
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks));
    BOOST_TEST(asks.lease.is_asking);
    BOOST_TEST(!table.try_settle(first, false));
    auto other = fake_operation{};
    BOOST_TEST(!start(other));
    BOOST_TEST(!other.lease.is_asking);
    BOOST_TEST(!table.try_settle(other, false));
    auto third = fake_operation{};
    BOOST_TEST(!start(third));
    BOOST_TEST(!third.lease.is_asking);
    asks.ec = errc::unavailable; // it could not be sent
    BOOST_TEST(!table.try_settle(asks, true));
    auto next = fake_operation{};
    BOOST_TEST(!start(next));
    BOOST_TEST(next.lease.is_asking);
    BOOST_TEST(!table.try_settle(asks, true)); // which ends once
    auto last = fake_operation{};
    BOOST_TEST(!start(last));
    BOOST_TEST(!last.lease.is_asking);
}

BOOST_FIXTURE_TEST_CASE(a_question_from_before_a_drop_does_not_end_the_next_one, fixture) {
    auto before = fake_operation{};
    BOOST_TEST(!start(before));
    BOOST_TEST(before.lease.is_asking);
    reset(leased, key);
    auto asks = fake_operation{};
    BOOST_TEST(!start(asks));
    BOOST_TEST(asks.lease.is_asking);
    before.ec = errc::unavailable;
    BOOST_TEST(!table.try_settle(before, true));
    auto other = fake_operation{};
    BOOST_TEST(!start(other));
    BOOST_TEST(!other.lease.is_asking);
}

BOOST_FIXTURE_TEST_CASE(tokens_decide_a_call_that_the_store_has_not_allowed, fixture) {
    take_each({20});
    const auto ends_as = [&](error_code ec, outcome how, denial_reason why, std::int64_t tokens) {
        auto op = fake_operation{cost(tokens)};
        op.key_digest = key;
        op.lease = {.is_known = true};
        op.fallback.policy = detail::access::data(leased);
        op.ec = ec;
        op.result.outcome = how;
        op.result.reason = why;
        detail::access::append(op.result.rules) = {.limit = 7};
        const auto spent = counted().lease_tokens_spent;
        const auto is_decided = table.try_settle(op, true);
        BOOST_TEST(counted().lease_tokens_spent ==
                   spent + static_cast<std::uint64_t>(is_decided ? tokens : 0));
        BOOST_TEST((op.ec == (is_decided ? error_code{} : ec)));
        if (is_decided)
            BOOST_TEST((op.result.source == decision_source::lease));
        BOOST_TEST_REQUIRE(op.result.rules.size() == 1U);
        BOOST_TEST((op.result.rules[0].limit == 7) == !is_decided);
        return is_decided;
    };
    BOOST_TEST(!ends_as({}, outcome::allowed, denial_reason::rule, 1));
    BOOST_TEST(!ends_as({}, outcome::denied, denial_reason::block, 1));
    BOOST_TEST(!ends_as({}, outcome::never, denial_reason::rule, 1));
    BOOST_TEST(ends_as({}, outcome::denied, denial_reason::rule, 1));
    BOOST_TEST(ends_as(errc::unavailable, outcome::allowed, denial_reason::rule, 1));
    BOOST_TEST(!ends_as(errc::unavailable, outcome::allowed, denial_reason::rule, 19));
    BOOST_TEST(ends_as(errc::unavailable, outcome::allowed, denial_reason::rule, 17));
    BOOST_TEST(ends_as(errc::unavailable, outcome::allowed, denial_reason::rule, 1));
    BOOST_TEST(held() == 0U);
    take_each({20});
    now += length;
    BOOST_TEST(!ends_as(errc::unavailable, outcome::allowed, denial_reason::rule, 1));
    BOOST_TEST(held() == 0U);

    auto unknown = fake_operation{};
    unknown.ec = errc::unavailable;
    BOOST_TEST(!table.try_settle(unknown, true));
}

BOOST_FIXTURE_TEST_CASE(only_a_call_that_was_not_allowed_is_no_demand, fixture) {
    const auto asked_after = [&](outcome how) {
        auto op = fake_operation{cost(5'000)};
        BOOST_TEST(!start(op));
        allow(op, 0, 100'000);
        op.result.outcome = how;
        BOOST_TEST(!table.try_settle(op, false));
        auto next = fake_operation{};
        BOOST_TEST(!start(next));
        allow(next, 0, 100'000);
        return next.lease.further_calls;
    };
    BOOST_TEST(asked_after(outcome::denied) == test::calls_of_lease(10'001));
    BOOST_TEST(asked_after(outcome::allowed) == test::calls_of_lease(15'002));

    auto old = fake_operation{cost(100)};
    BOOST_TEST(!start(old));
    now += 1'000'000; // its period has passed
    BOOST_TEST(make(leased, key) == 0U);
    old.result.outcome = outcome::denied;
    BOOST_TEST(!table.try_settle(old, false));
    for (auto i = 0; i < 3; ++i)
        BOOST_TEST(make(leased, key) == 0U);
    BOOST_TEST(make(leased, key) == test::calls_of_lease(4));
}

BOOST_FIXTURE_TEST_CASE(a_call_of_a_key_without_an_entry_is_not_decided, fixture) {
    auto op = fake_operation{};
    BOOST_TEST(!start(op));
    table.clear();
    op.ec = errc::unavailable;
    table.note(op, now);
    BOOST_TEST(!table.try_settle(op, true));
    const auto other = policy{"p", gcra(1'001, 1s)}.with_leases(100ms);
    auto of_other = fake_operation{};
    BOOST_TEST(!start(of_other, other, key));
    allow(of_other, 0);
    BOOST_TEST(!table.try_settle(op, true));
}

BOOST_FIXTURE_TEST_CASE(a_decision_has_every_rule_and_nothing_of_what_it_replaces, fixture) {
    auto rules = std::vector<rule>{};
    for (std::size_t i = 0; i < limits::max_rules_per_policy; ++i)
        rules.push_back(gcra(1'000, 1s).named("r" + std::to_string(i)));
    const auto all = policy{"all", std::span<const rule>{rules}}.with_leases(100ms);
    const auto data = detail::access::data(all);
    for (auto i = 0; i < 9; ++i)
        make(all, key);
    auto op = fake_operation{};
    BOOST_TEST(!start(op, all, key));
    BOOST_TEST(op.lease.is_asking);
    op.result.outcome = outcome::allowed;
    op.result.limiting_rule = 5;
    op.result.server_time = time_point{5'000s};
    for (std::size_t i = 0; i < rules.size(); ++i)
        detail::access::append(op.result.rules) = {
            .limit = 900, .balance = 800 + static_cast<std::int64_t>(i), .reset_after = 50ms};
    op.result.remaining = 800;
    op.lease.granted = 8;
    op.sent_at = now;
    table.note(op, now);

    for (const auto passed : {0, 90'000}) {
        now = start_time + passed;
        auto one = fake_operation{};
        one.result.outcome = outcome::denied;
        one.result.reason = denial_reason::block;
        one.result.limiting_check = 3;
        one.result.retry_after = 7s;
        BOOST_TEST(start(one, all, key));
        const auto held_now = static_cast<std::int64_t>(held());
        const auto& d = one.result;
        BOOST_TEST(d.allowed());
        BOOST_TEST((d.reason == denial_reason::rule));
        BOOST_TEST(d.limiting_rule == 5);
        BOOST_TEST(d.limiting_check == 0);
        BOOST_TEST(d.granted == 1);
        BOOST_TEST(d.remaining == 805 - 8 + held_now);
        BOOST_TEST((d.retry_after == 0us));
        BOOST_TEST((d.server_time == time_point{5'000s + std::chrono::microseconds{passed}}));
        BOOST_TEST_REQUIRE(d.rules.size() == rules.size());
        for (std::size_t i = 0; i < rules.size(); ++i) {
            BOOST_TEST(d.rules[i].balance == 800 + static_cast<std::int64_t>(i) - 8 + held_now);
            BOOST_TEST(d.rules[i].limit == data->compiled.limits[i].capacity);
            BOOST_TEST((d.rules[i].retry_after == 0us));
            // 8 tokens are repaid in 8 ms.
            BOOST_TEST((d.rules[i].reset_after == (passed == 0 ? 58ms : 0ms)));
        }
        BOOST_TEST((d.reset_after == d.rules[5].reset_after));
        BOOST_TEST(d.limit == d.rules[5].limit);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of one call: the grant, the rest, when to retry, and the limiting rule.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <span>

BOOST_AUTO_TEST_SUITE(evaluation)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;
using us = std::chrono::microseconds;

constexpr auto start = std::int64_t{1'700'000'000'000'000};
constexpr auto exact = limits::max_exact_integer;

[[nodiscard]] decision refused(us wait, std::int64_t remaining) {
    auto made = decision{};
    made.remaining = remaining;
    made.retry_after = wait;
    return made;
}

[[nodiscard]] decision granted(std::int64_t remaining, us recovery) {
    auto made = decision{};
    made.outcome = outcome::allowed;
    made.remaining = remaining;
    made.reset_after = recovery;
    return made;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fresh_key_has_its_whole_capacity) {
    auto k = key_history{gcra(5, 1s).burst(10), start};
    const auto d = k.peek(10);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.limit == 10);
    BOOST_TEST(d.remaining == 10);
    BOOST_TEST(d.reset_after.count() == 0);
    BOOST_TEST(d.granted == 10);
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(the_first_allow_leaves_the_limit_minus_1_for_any_count_period_and_epoch) {
    for (const auto count : {1, 2, 3, 7, 99, 641, 999, 1000})
        for (const auto period : {us{1s}, us{1min}, us{7s}, us{1h}, us{24h}, us{1ms}})
            for (const auto epoch :
                 {std::int64_t{0}, start, std::int64_t{4'102'444'800'000'000}, start + 999'999}) {
                auto k = key_history{gcra(count, period), epoch};
                const auto d = k.allow();
                BOOST_TEST(d.allowed());
                BOOST_TEST(d.remaining == count - 1);
            }
}

BOOST_AUTO_TEST_CASE(a_refused_call_is_allowed_exactly_at_retry_after_and_not_before) {
    for (const auto& r : {gcra(3, 1s), gcra(7, 1s).burst(2), token_bucket(5, 11, 1min),
                          leaky_bucket(1, 3, 1h), gcra(104'729, 24h)})
        for (const auto offset : {0, 1, 333'333, 999'999})
            for (const auto cost : {1, 2}) {
                auto k = key_history{r, start + offset};
                if (cost > r.capacity())
                    continue;
                while (k.allow(cost).allowed())
                    k.now += 1;
                const auto wait = k.allow(cost).retry_after;
                BOOST_TEST(wait.count() > 0);
                auto early = k;
                early.now += wait.count() - 1;
                BOOST_TEST(!early.allow(cost).allowed());
                k.now += wait.count();
                BOOST_TEST(k.allow(cost).allowed());
            }
}

BOOST_AUTO_TEST_CASE(debt_is_repaid_continuously_and_reset_after_says_when_all_of_it_is) {
    auto k = key_history{gcra(10, 1s).burst(10), start};
    for (int i = 0; i < 10; ++i)
        k.allow();
    BOOST_TEST(k.peek().remaining == 0);
    BOOST_TEST(k.peek().reset_after.count() == 1'000'000);
    k.now += 250'000;
    BOOST_TEST(k.peek().remaining == 2);
    BOOST_TEST(k.peek().reset_after.count() == 750'000);
    k.now += 749'999;
    BOOST_TEST(k.peek().remaining == 9);
    k.now += 1;
    BOOST_TEST(k.peek().remaining == 10);
    BOOST_TEST(k.peek().reset_after.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_hundred_a_second_with_burst_10_lets_10_of_15_through) {
    auto k = key_history{gcra(100, 1s).burst(10), start};
    auto allowed = 0;
    for (int i = 0; i < 15; ++i)
        allowed += k.allow().allowed() ? 1 : 0;
    BOOST_TEST(allowed == 10);
}

BOOST_AUTO_TEST_CASE(a_cost_above_the_limit_is_never_allowed_and_writes_nothing) {
    auto k = key_history{gcra(5, 1s), start};
    k.allow(2);
    const auto d = k.allow(6);
    BOOST_TEST((d.outcome == outcome::never));
    BOOST_TEST((d.retry_after == never_again));
    BOOST_TEST(d.limit == 5);
    BOOST_TEST(d.remaining == 3);
    BOOST_TEST(d.reset_after.count() == 400'000);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST((k.allow(exact).outcome == outcome::never));
}

BOOST_AUTO_TEST_CASE(a_cost_of_0_is_allowed_unless_the_balance_is_negative) {
    auto k = key_history{gcra(5, 1s), start};
    k.allow(5);
    BOOST_TEST(k.allow(0).allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.charge(2);
    const auto d = k.allow(0);
    BOOST_TEST((d.outcome == outcome::denied));
    BOOST_TEST(d.retry_after.count() == 400'000);
    k.now += 399'999;
    BOOST_TEST(!k.allow(0).allowed());
    k.now += 1;
    BOOST_TEST(k.allow(0).allowed());
}

BOOST_AUTO_TEST_CASE(a_partial_grant_charges_what_it_grants) {
    auto k = key_history{gcra(10, 1s), start};
    k.allow(7);
    const auto d = k.allow(9, 2);
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.granted == 3);
    BOOST_TEST(d.remaining == 0);
    const auto none = k.allow(9, 1);
    BOOST_TEST(!none.allowed());
    BOOST_TEST(none.granted == 0);
    BOOST_TEST(none.retry_after.count() == 100'000);
    const auto nothing = k.allow(9, 0);
    BOOST_TEST(nothing.allowed());
    BOOST_TEST(nothing.granted == 0);
}

BOOST_AUTO_TEST_CASE(a_partial_grant_above_the_limit_is_never_only_by_what_it_needs_at_least) {
    auto k = key_history{gcra(10, 1s), start};
    BOOST_TEST(k.allow(1000, 10).granted == 10);
    BOOST_TEST((k.allow(1000, 10).outcome == outcome::denied));
    BOOST_TEST((k.allow(1000, 11).outcome == outcome::never));
}

BOOST_AUTO_TEST_CASE(a_charge_is_never_refused_and_may_overdraw) {
    auto k = key_history{gcra(5, 1s), start};
    const auto d = k.charge(7);
    BOOST_TEST((d.outcome == outcome::denied));
    BOOST_TEST(d.granted == 0);
    BOOST_TEST(d.remaining == 0);
    BOOST_TEST(d.rules[0].balance == -2);
    BOOST_TEST(d.retry_after.count() == 400'000);
    BOOST_TEST(d.reset_after.count() == 1'400'000);
}

BOOST_AUTO_TEST_CASE(the_balance_of_a_part_of_a_token_is_rounded_down) {
    auto k = key_history{gcra(5, 1s), start};
    k.charge(7);
    k.now += 1;
    BOOST_TEST(k.peek().rules[0].balance == -2);
    k.now += 199'998;
    BOOST_TEST(k.peek().rules[0].balance == -2);
    k.now += 1;
    BOOST_TEST(k.peek().rules[0].balance == -1);
}

BOOST_AUTO_TEST_CASE(charges_saturate_at_what_366_days_repay) {
    auto k = key_history{gcra(1, 1s), start};
    k.charge(exact);
    const auto year = k.peek(0).reset_after;
    BOOST_TEST((year == limits::max_repayment));
    k.charge(exact);
    BOOST_TEST((k.peek(0).reset_after == year));
    k.now += year.count();
    BOOST_TEST(k.allow().remaining == 0);
}

BOOST_AUTO_TEST_CASE(charges_saturate_at_2_to_the_52_ticks) {
    // A token weighs a million ticks and 366 days repay more than 2^52 of them.
    auto k = key_history{gcra(999'983, 1s).burst(1), start};
    k.charge(exact);
    BOOST_TEST(k.state.states[0].debt == std::int64_t{1} << 52);
    BOOST_TEST(k.peek(0).reset_after.count() == ((std::int64_t{1} << 52) + 999'982) / 999'983);
    k.reset();
    k.charge(3);
    k.charge((std::int64_t{1} << 52) / 1'000'000); // not all of it
    BOOST_TEST(k.state.states[0].debt == std::int64_t{1} << 52);
}

BOOST_AUTO_TEST_CASE(a_refund_gives_back_and_never_lifts_remaining_above_the_limit) {
    auto k = key_history{gcra(5, 1s), start};
    k.allow(4);
    BOOST_TEST(k.refund(1).remaining == 2);
    BOOST_TEST(k.refund(100).remaining == 5);
    BOOST_TEST((k.last_effect == core::effect::erase));
    BOOST_TEST(k.refund(exact).remaining == 5);
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(a_refund_of_at_least_the_debt_leaves_no_part_of_a_token) {
    auto k = key_history{gcra(5, 1s), start};
    k.allow(4);
    k.now += 100'000; // half a token repaid
    const auto d = k.refund(4);
    BOOST_TEST(d.reset_after.count() == 0);
    BOOST_TEST((k.last_effect == core::effect::erase));
    BOOST_TEST(k.peek().reset_after.count() == 0);
    k = key_history{gcra(2'500'000, 1s), start}; // five tokens in two microseconds
    k.allow(5);
    k.now += 1;
    k.refund(3);
    BOOST_TEST((k.last_effect == core::effect::erase));
}

BOOST_AUTO_TEST_CASE(a_reset_forgets_everything) {
    auto k = key_history{gcra(5, 1s), start};
    k.reset();
    BOOST_TEST((k.last_effect == core::effect::nothing)); // there is no key
    k.charge(500);
    const auto d = k.reset();
    BOOST_TEST(d.remaining == 5);
    BOOST_TEST((k.last_effect == core::effect::erase));
    k.reset();
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(a_peek_never_writes_and_a_refusal_writes_nothing) {
    auto k = key_history{gcra(2, 1s), start};
    k.allow(2);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.now += 10;
    const auto before = k.state.states[0].debt;
    BOOST_TEST(!k.allow(2).allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.peek(1);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST(before - k.state.states[0].debt == 10);
}

BOOST_AUTO_TEST_CASE(all_rules_charge_or_none) {
    auto k = key_history{policy{"p", gcra(10, 1s).named("a"), gcra(3, 1min).named("b")}, start};
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(k.allow().allowed());
    const auto before = k.peek(0);
    BOOST_TEST(!k.allow().allowed());
    BOOST_TEST((k.peek(0).rules == before.rules));
    BOOST_TEST(before.rules[0].balance == 7);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_bound_by_the_rule_with_the_longest_wait) {
    auto k = key_history{
        policy{"p", gcra(1, 1s).named("a"), gcra(1, 1h).named("b"), gcra(1, 1min).named("c")},
        start};
    k.allow();
    const auto d = k.allow();
    BOOST_TEST(d.limiting_rule == 1);
    BOOST_TEST((d.retry_after == 1h));
    BOOST_TEST((d.rules[2].retry_after == 1min));
}

BOOST_AUTO_TEST_CASE(never_binds_before_any_wait) {
    auto k = key_history{policy{"p", gcra(9, 24h).named("a"), gcra(5, 1s).named("b")}, start};
    k.allow(5);
    const auto d = k.allow(6);
    BOOST_TEST((d.outcome == outcome::never));
    BOOST_TEST(d.limiting_rule == 1);
}

BOOST_AUTO_TEST_CASE(a_grant_is_bound_by_the_least_remaining_then_the_longest_recovery_then_order) {
    auto least = key_history{policy{"p", gcra(10, 1s).named("a"), gcra(4, 1s).named("b")}, start};
    BOOST_TEST(least.allow().limiting_rule == 1);
    auto slowest = key_history{policy{"p", gcra(4, 1s).named("a"), gcra(4, 1h).named("b")}, start};
    BOOST_TEST(slowest.allow().limiting_rule == 1);
    auto first = key_history{policy{"p", gcra(4, 1s).named("a"), gcra(4, 1s).named("b")}, start};
    BOOST_TEST(first.allow().limiting_rule == 0);
}

BOOST_AUTO_TEST_CASE(of_rules_that_say_the_same_the_first_binds) {
    auto k = key_history{policy{"p", gcra(3, 1s).named("a"), gcra(3, 1s).named("b")}, start};
    BOOST_TEST(k.allow(3).limiting_rule == 0);
    BOOST_TEST(k.allow().limiting_rule == 0);
    auto watching = key_history{
        policy{"p", gcra(3, 1s).named("a").shadow(), gcra(9, 1s).named("b").shadow()}, start};
    BOOST_TEST(watching.allow(5).limiting_rule == 0);
}

BOOST_AUTO_TEST_CASE(an_answer_keeps_nothing_of_the_one_that_was_there) {
    auto k = key_history{policy{"p", gcra(3, 1s).named("a"),
                                token_bucket(3, 1, 1s).stepwise().named("b"),
                                fixed_window(3, 1s).named("c"), sliding_window(3, 1s).named("d")},
                         start};
    auto used = k.allow(2);
    used.source = decision_source::deny_cache;
    used.reason = denial_reason::block;
    used.granted = 7;
    const auto fresh = k.peek(1);
    auto state = core::key_state{};
    auto answer = used;
    (void)core::evaluate(k.plan(), state, {.verb = core::verb::charge, .cost = 2, .now = start},
                         answer);
    BOOST_TEST((answer.source == decision_source::store));
    BOOST_TEST((answer.reason == denial_reason::rule));
    BOOST_TEST(answer.granted == 0);
    answer = used;
    (void)core::evaluate(k.plan(), state, {.verb = core::verb::peek, .now = start}, answer);
    BOOST_TEST((answer == fresh));
    for (const auto& r : fresh.rules) // no wait for available tokens
        BOOST_TEST(r.retry_after.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_shadow_rule_is_charged_and_reported_but_never_refuses_nor_binds) {
    auto k = key_history{policy{"p", gcra(1, 1h).named("new").shadow(), gcra(9, 1s)}, start};
    BOOST_TEST(k.allow().allowed());
    const auto d = k.allow();
    BOOST_TEST(d.allowed());
    BOOST_TEST(d.limiting_rule == 1);
    BOOST_TEST(d.rules[0].balance == -1);
    BOOST_TEST(d.rules[0].retry_after.count() > 0);
    BOOST_TEST(k.allow(5).allowed()); // more than the shadow rule can ever hold
    BOOST_TEST(d.retry_after.count() == 0);
}

BOOST_AUTO_TEST_CASE(a_policy_of_shadow_rules_allows_everything) {
    auto k = key_history{gcra(1, 1h).shadow(), start};
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(k.allow(3).allowed());
}

BOOST_AUTO_TEST_CASE(calls_at_one_instant_see_each_other_as_if_the_state_had_been_stored_between) {
    const auto rules = policy{"p", gcra(7, 1s).burst(5).named("a"), gcra(104'729, 24h).named("b")};
    auto kept = key_history{rules, start + 123'457};
    auto stored = kept;
    stored.forget_flags_between_calls = true;
    for (const auto cost : {1, 3, 2, 0, 6, 1}) {
        BOOST_TEST((kept.allow(cost) == stored.allow(cost)));
        BOOST_TEST((kept.charge(cost) == stored.charge(cost)));
        BOOST_TEST((kept.refund(cost) == stored.refund(cost)));
        BOOST_TEST((kept.peek(cost) == stored.peek(cost)));
    }
}

BOOST_AUTO_TEST_CASE(recovery_time_is_that_of_the_slowest_rule) {
    auto k = key_history{policy{"p", gcra(1, 1s).named("a"), gcra(2, 1h).named("b")}, start};
    BOOST_TEST(core::lifetime(k.plan(), k.state.states, k.state, k.now) == 0);
    k.allow();
    const auto states = std::span{k.state.states}.first(k.plan().state_count); // no more is there
    BOOST_TEST(core::lifetime(k.plan(), states, k.state, k.now) == us{30min}.count());
    BOOST_TEST((k.peek(0).rules[1].reset_after == 30min));
}

BOOST_AUTO_TEST_CASE(of_several_answers_a_refusal_binds_then_the_longest_wait) {
    const auto soon = refused(1s, 2);
    const auto late = refused(2s, 9);
    BOOST_TEST(core::binds_more(soon, granted(1, 0s)));
    BOOST_TEST(!core::binds_more(granted(1, 0s), soon));
    BOOST_TEST(core::binds_more(late, soon));
    BOOST_TEST(!core::binds_more(soon, late));
    BOOST_TEST(!core::binds_more(soon, soon));
}

BOOST_AUTO_TEST_CASE(of_several_grants_the_least_remaining_binds_then_the_longest_recovery) {
    const auto less = granted(1, 1s);
    const auto more = granted(2, 3s);
    const auto slower = granted(1, 2s);
    BOOST_TEST(core::binds_more(less, more));
    BOOST_TEST(!core::binds_more(more, less));
    BOOST_TEST(core::binds_more(slower, less));
    BOOST_TEST(!core::binds_more(less, slower));
    BOOST_TEST(!core::binds_more(less, less));
}

BOOST_AUTO_TEST_CASE(a_place_is_known_by_when_the_slowest_rule_has_repaid_it) {
    auto k = key_history{policy{"p", gcra(2, 1h).named("a"), gcra(1, 1s).named("b")}, start};
    BOOST_TEST(core::recovers_at(k.peek(0)) == start);
    BOOST_TEST(core::recovers_at(k.allow()) == start + us{30min}.count());
}

BOOST_AUTO_TEST_SUITE_END()

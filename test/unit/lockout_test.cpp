// SPDX-License-Identifier: BSL-1.0
//
// Denials for a time regardless of rules: prevent_duplicate, block, once.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(lockouts)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'000} * second;
const auto unhurried = policy{"p", gcra(10, 1s)};

[[nodiscard]] key_history sms(std::int64_t begin = start) {
    return {policy{"sms", gcra(10, 1s)}.prevent_duplicate(5s), begin};
}

/// A key of `once`: no rules, a block only.
struct first_comer {
    std::int64_t now = start;
    core::key_state state{};
    core::effect last_effect{};

    decision once(std::int64_t ttl) {
        auto answer = decision{};
        last_effect = core::evaluate(
            core::compiled_policy{}, state,
            {.verb = core::verb::once, .cost = ttl, .at_least = ttl, .now = now}, answer);
        return answer;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_second_call_soon_after_a_granted_one_is_a_duplicate) {
    auto k = sms();
    BOOST_TEST(k.allow().remaining == 9);
    k.now += 2 * second;
    const auto d = k.allow();
    BOOST_TEST((d.outcome == outcome::denied));
    BOOST_TEST((d.reason == denial_reason::duplicate));
    BOOST_TEST(d.retry_after.count() == 3 * second);
    BOOST_TEST(d.reset_after.count() == 3 * second);
    BOOST_TEST(d.limit == 0);
    BOOST_TEST(d.remaining == 0);
    BOOST_TEST(d.rules[0].balance == 10);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.now += 3 * second - 1;
    BOOST_TEST(!k.allow().allowed());
    k.now += 1;
    BOOST_TEST(k.allow().allowed());
    BOOST_TEST(!k.allow().allowed()); // at the same instant
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(a_duplicate_does_not_prolong_the_wait) {
    auto k = sms();
    k.allow();
    for (int i = 0; i < 4; ++i) {
        k.now += second;
        BOOST_TEST(!k.allow().allowed());
    }
    k.now += second;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_grant_that_costs_nothing_is_followed_by_duplicates_too) {
    auto k = sms();
    BOOST_TEST(k.allow(0).allowed());
    BOOST_TEST((k.last_effect == core::effect::store));
    BOOST_TEST(!k.allow(0).allowed());
}

BOOST_AUTO_TEST_CASE(only_a_granted_call_has_duplicates) {
    auto k = sms();
    k.peek();
    k.charge(2);
    BOOST_TEST(k.allow(9).retry_after.count() == 100'000);
    BOOST_TEST((k.allow(11).outcome == outcome::never));
    BOOST_TEST(k.allow(8).allowed());
}

BOOST_AUTO_TEST_CASE(a_refund_gives_no_duplicate_back_and_a_reset_does) {
    auto k = sms();
    k.allow();
    k.refund();
    BOOST_TEST((k.allow().reason == denial_reason::duplicate));
    k.reset();
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_rule_that_refuses_for_longer_binds_before_the_duplicate) {
    auto k = key_history{policy{"p", gcra(1, 1min)}.prevent_duplicate(5s), start};
    k.allow();
    const auto d = k.allow();
    BOOST_TEST((d.reason == denial_reason::rule));
    BOOST_TEST(d.retry_after.count() == 60 * second);
    k = key_history{policy{"p", gcra(1, 5s)}.prevent_duplicate(5s), start};
    k.allow();
    BOOST_TEST((k.allow().reason == denial_reason::rule)); // equally long
    k = sms();
    k.allow();
    BOOST_TEST((k.allow(11).outcome == outcome::never));
}

BOOST_AUTO_TEST_CASE(a_shadow_policy_refuses_no_duplicate) {
    auto k = key_history{policy{"p", gcra(10, 1s)}.prevent_duplicate(5s).shadow(), start};
    k.allow();
    BOOST_TEST(k.allow().allowed());
    BOOST_TEST(k.block(second).allowed());
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(after_a_step_back_a_hold_lasts_at_most_its_length) {
    auto k = sms();
    k.allow();
    k.now -= 3'600 * second;
    BOOST_TEST(k.allow().retry_after.count() == 5 * second);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.now += 5 * second;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_shorter_prevent_duplicate_shortens_the_hold_that_is_there) {
    auto k = sms();
    k.allow();
    k.policy = policy{"sms", gcra(10, 1s)}.prevent_duplicate(1s);
    BOOST_TEST(k.allow().retry_after.count() == second);
    k.policy = policy{"sms", gcra(10, 1s)};
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_hold_is_kept_as_long_as_it_lasts) {
    auto k = sms();
    k.allow();
    BOOST_TEST(core::lifetime(k.plan(), k.state.states, k.state, k.now) == 5 * second);
}

BOOST_AUTO_TEST_CASE(a_blocked_key_is_refused_until_the_block_ends) {
    auto k = key_history{unhurried, start};
    k.allow(3);
    const auto d = k.block(60 * second);
    BOOST_TEST((d.outcome == outcome::denied));
    BOOST_TEST((d.reason == denial_reason::block));
    BOOST_TEST(d.retry_after.count() == 60 * second);
    BOOST_TEST((k.last_effect == core::effect::store));
    BOOST_TEST(core::lifetime(k.plan(), k.state.states, k.state, k.now) == 60 * second);
    k.now += 60 * second - 1;
    BOOST_TEST(k.allow(0).retry_after.count() == 1);
    BOOST_TEST(!k.peek().allowed());
    k.now += 1;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_block_is_lifted_by_reset_and_not_by_a_shorter_one) {
    auto k = key_history{unhurried, start};
    k.block(60 * second);
    BOOST_TEST(k.block(10 * second).retry_after.count() == 60 * second);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.block(60 * second);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST(k.block(90 * second).retry_after.count() == 90 * second);
    BOOST_TEST(k.reset().allowed());
    BOOST_TEST((k.last_effect == core::effect::erase));
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_blocked_key_can_still_be_charged_and_refunded) {
    auto k = key_history{unhurried, start};
    k.block(60 * second);
    BOOST_TEST(k.charge(4).rules[0].balance == 6);
    BOOST_TEST(k.refund(1).rules[0].balance == 7);
    BOOST_TEST((k.peek().reason == denial_reason::block));
}

BOOST_AUTO_TEST_CASE(a_cost_above_the_limit_is_never_allowed_blocked_or_not) {
    auto k = key_history{unhurried, start};
    k.block(60 * second);
    BOOST_TEST((k.allow(11).outcome == outcome::never));
    BOOST_TEST((k.allow(11).retry_after == never_again));
}

BOOST_AUTO_TEST_CASE(after_a_step_back_a_block_counts_from_now) {
    auto k = key_history{unhurried, start};
    k.block(60 * second);
    k.now -= 3'600 * second;
    BOOST_TEST(k.allow().retry_after.count() == 60 * second);
    BOOST_TEST((k.last_effect == core::effect::store));
}

BOOST_AUTO_TEST_CASE(the_first_comer_wins_until_the_time_is_over) {
    auto k = first_comer{};
    const auto first = k.once(10 * second);
    BOOST_TEST(first.allowed());
    BOOST_TEST(first.granted == 1);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.now += 4 * second;
    const auto second_one = k.once(10 * second);
    BOOST_TEST((second_one.outcome == outcome::denied));
    BOOST_TEST(second_one.granted == 0);
    BOOST_TEST((second_one.reason == denial_reason::duplicate));
    BOOST_TEST(second_one.retry_after.count() == 6 * second);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.now += 6 * second - 1;
    BOOST_TEST(!k.once(10 * second).allowed());
    k.now += 1;
    BOOST_TEST(k.once(10 * second).allowed());
}

BOOST_AUTO_TEST_CASE(later_comers_do_not_change_the_time_of_the_first) {
    auto k = first_comer{};
    k.once(10 * second);
    BOOST_TEST(k.once(3'600 * second).retry_after.count() == 10 * second);
    BOOST_TEST(k.once(second).retry_after.count() == 10 * second);
}

BOOST_AUTO_TEST_CASE(who_comes_first_for_no_time_leaves_nothing) {
    auto k = first_comer{};
    BOOST_TEST(k.once(0).allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
    BOOST_TEST(k.once(0).allowed());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic with unusual times: coarse units, clocks that step, numbers that changed, invalid
// states.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(evaluation_and_time)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto start = std::int64_t{1'700'000'000'000'000};

/// The same key, from now on under other rules of the same names.
[[nodiscard]] key_history under(const key_history& k, const rule& r) {
    auto changed = k;
    changed.policy = policy{"p", r};
    return changed;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_rule_in_milliseconds_counts_from_the_last_whole_one) {
    // 104,729 is prime: a bucket of as many tokens a day is exact in milliseconds only.
    auto k = key_history{policy{"p", gcra(104'729, 24h)}, start + 1'750};
    BOOST_TEST(k.allow(104'729).rules[0].resolution.count() == 1'000);
    const auto d = k.allow();
    // 86,400,000 ms / 104,729 = 824.98 ms, so 825 from the start of the present millisecond.
    BOOST_TEST(d.retry_after.count() == 825'000 - 750);
    k.now = start + 1'000 + 825'000 - 1;
    BOOST_TEST(!k.allow().allowed());
    k.now += 1;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_rule_in_seconds_counts_from_the_last_whole_one) {
    auto k = key_history{policy{"p", gcra(104'729, 24h * 36'500)}, start + 400'000};
    BOOST_REQUIRE(k.plan().rules()[0].unit == 1'000'000);
    k.allow(104'729);
    const auto wait = k.allow().retry_after.count();
    BOOST_TEST((k.now + wait) % 1'000'000 == 0);
    k.now += wait - 1;
    BOOST_TEST(!k.allow().allowed());
    k.now += 1;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_part_of_a_coarse_unit_repays_nothing_however_often_it_is_asked) {
    auto k = key_history{policy{"p", gcra(104'729, 24h)}, start};
    BOOST_REQUIRE(k.plan().rules()[0].unit == 1'000);
    k.allow(104'729);
    auto allowed = 0;
    for (; k.now < start + 2 * 824'983; k.now += 499)
        allowed += k.allow().allowed() ? 1 : 0;
    BOOST_TEST(allowed == 1);
}

BOOST_AUTO_TEST_CASE(a_step_back_mints_nothing_and_costs_at_most_the_debt) {
    auto k = key_history{gcra(10, 1s), start};
    k.allow(10);
    k.now -= 3'600'000'000;
    const auto d = k.allow();
    BOOST_TEST(!d.allowed());
    BOOST_TEST(d.retry_after.count() == 100'000); // from the present time, not the later one
    BOOST_TEST((k.last_effect == core::effect::store));
    BOOST_TEST(k.state.states[0].t == k.now);
    k.now += 1'000'000;
    BOOST_TEST(k.peek().remaining == 10);
}

BOOST_AUTO_TEST_CASE(a_step_back_is_written_once_by_the_call_that_finds_it) {
    auto k = key_history{gcra(10, 1s), start};
    k.allow(10);
    k.now -= 1;
    k.allow();
    BOOST_TEST((k.last_effect == core::effect::store));
    k.allow();
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(a_peek_that_finds_a_step_back_leaves_the_writing_to_the_next_call) {
    auto k = key_history{gcra(10, 1s), start};
    k.allow(10);
    k.now -= 1;
    k.peek();
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.allow();
    BOOST_TEST((k.last_effect == core::effect::store));
}

BOOST_AUTO_TEST_CASE(a_step_forward_gives_at_most_one_capacity) {
    auto k = key_history{gcra(10, 1s), start};
    k.allow(10);
    k.now = limits::max_time;
    BOOST_TEST(k.allow(10).allowed());
    BOOST_TEST(!k.allow(1).allowed());
}

BOOST_AUTO_TEST_CASE(debt_counted_with_other_numbers_is_converted_to_the_tick) {
    auto k = key_history{policy{"p", gcra(10, 1s)}, start};
    k.allow(4);
    k.now += 50'000;
    k.allow(); // 4.5 tokens are owed
    auto changed = under(k, gcra(20, 1s));
    BOOST_TEST(changed.peek(0).remaining == 15);
    BOOST_TEST(changed.peek(0).reset_after.count() == 225'000);
}

BOOST_AUTO_TEST_CASE(what_was_charged_within_a_coarse_unit_is_repaid_from_its_end_on) {
    auto k = key_history{policy{"p", gcra(5, 1s)}, start + 1};
    k.allow(4);
    k.now = start + 1'000;
    k = under(k, gcra(104'729, 24h));
    BOOST_REQUIRE(k.plan().rules()[0].unit == 1'000);
    k.peek(0);
    BOOST_TEST(k.state.states[0].debt == 4 * k.plan().rules()[0].num);
}

BOOST_AUTO_TEST_CASE(the_last_part_of_a_debt_that_is_no_whole_microsecond_is_repaid_in_one) {
    auto k = key_history{policy{"p", gcra(3, 1s)}, start};
    k.allow();
    k.now += 333'333;
    k.peek(0);
    BOOST_TEST(k.state.states[0].debt == 1);
    k.now += 1;
    k.peek(0);
    BOOST_TEST(k.state.states[0].debt == 0);
}

BOOST_AUTO_TEST_CASE(a_lowered_limit_locks_nobody_out_longer_than_it_would_itself) {
    auto k = key_history{policy{"p", gcra(1000, 1s)}, start};
    k.charge(5000);
    auto changed = under(k, gcra(10, 1s));
    const auto d = changed.allow();
    BOOST_TEST(!d.allowed());
    BOOST_TEST(d.rules[0].balance == 0);
    BOOST_TEST(d.retry_after.count() == 100'000);
    BOOST_TEST((changed.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(debt_above_the_capacity_stays_while_the_numbers_do) {
    auto k = key_history{policy{"p", gcra(10, 1s)}, start};
    k.charge(50);
    BOOST_TEST(under(k, gcra(10, 1s)).peek(0).rules[0].balance == -40);
}

BOOST_AUTO_TEST_CASE(a_raised_limit_does_not_forgive_what_was_taken) {
    auto k = key_history{policy{"p", gcra(10, 1s)}, start};
    k.allow(10);
    BOOST_TEST(under(k, gcra(1000, 1s)).peek(0).remaining == 990);
}

BOOST_AUTO_TEST_CASE(a_rule_without_state_of_its_own_starts_full_beside_one_that_has) {
    auto k = key_history{policy{"p", gcra(10, 1s).named("a")}, start};
    k.allow(4);
    k.policy = policy{"p", gcra(10, 1s).named("a"), gcra(3, 1s).named("b")};
    const auto d = k.peek(0);
    BOOST_TEST(d.rules[0].balance == 6);
    BOOST_TEST(d.rules[1].balance == 3);
}

BOOST_AUTO_TEST_CASE(an_invalid_value_is_an_empty_bucket_and_written_by_whoever_finds_it) {
    auto k = key_history{gcra(1, 1h), start};
    k.state.exists = k.state.stale = true;
    BOOST_TEST(k.allow().allowed());
    BOOST_TEST((k.last_effect == core::effect::store));

    auto refused = key_history{policy{"p", gcra(1, 1h)}, start};
    refused.state.exists = refused.state.stale = true;
    BOOST_TEST((refused.allow(2).outcome == outcome::never));
    BOOST_TEST((refused.last_effect == core::effect::nothing));
    BOOST_TEST(refused.allow(0).allowed());
    BOOST_TEST((refused.last_effect == core::effect::erase));
}

BOOST_AUTO_TEST_SUITE_END()

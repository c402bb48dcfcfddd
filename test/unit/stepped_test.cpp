// SPDX-License-Identifier: BSL-1.0
//
// Buckets whose count comes back all at once, and what a key that is not there starts with.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(stepped_buckets)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'000} * second;

[[nodiscard]] key_history key_of(const rule& r, std::int64_t begin = start) {
    return {policy{"p", r}, begin};
}

[[nodiscard]] key_history under(const key_history& k, const rule& r) {
    auto changed = k;
    changed.policy = policy{"p", r};
    return changed;
}

constexpr auto stepwise = token_bucket(10, 4, 10s).stepwise();
constexpr auto aligned = token_bucket(10, 4, 10s).aligned();

} // namespace

BOOST_AUTO_TEST_CASE(a_stepwise_count_comes_back_at_each_period_since_the_first_use) {
    auto k = key_of(stepwise, start + 3 * second);
    k.allow(10);
    k.now += 10 * second - 1;
    BOOST_TEST(k.peek(0).remaining == 0);
    k.now += 1;
    BOOST_TEST(k.peek(0).remaining == 4);
    k.now += 10 * second;
    BOOST_TEST(k.peek(0).remaining == 8);
    k.now += 10 * second;
    BOOST_TEST(k.peek(0).remaining == 10);
}

BOOST_AUTO_TEST_CASE(later_calls_do_not_move_the_steps) {
    auto k = key_of(stepwise);
    k.allow(10);
    k.now += 14 * second;
    BOOST_TEST(k.allow(4).allowed());
    const auto d = k.allow();
    BOOST_TEST(d.retry_after.count() == 6 * second);
    BOOST_TEST(d.reset_after.count() == 26 * second);
}

BOOST_AUTO_TEST_CASE(a_step_of_a_full_bucket_is_forgotten_and_the_next_use_is_a_first_one) {
    auto k = key_of(stepwise);
    k.allow(4);
    k.now += 13 * second;
    k.allow(10);
    BOOST_TEST(k.allow().retry_after.count() == 10 * second);
}

BOOST_AUTO_TEST_CASE(an_aligned_count_comes_back_at_multiples_of_the_period) {
    auto k = key_of(aligned, start + 9 * second);
    k.allow(10);
    const auto d = k.allow();
    BOOST_TEST(d.retry_after.count() == second);
    BOOST_TEST(d.reset_after.count() == 21 * second);
    k.now += second;
    BOOST_TEST(k.peek(0).remaining == 4);
    k.now += 9 * second;
    BOOST_TEST(k.peek(0).remaining == 4);
}

BOOST_AUTO_TEST_CASE(a_wait_counts_as_many_steps_as_what_does_not_fit_needs) {
    auto k = key_of(stepwise);
    k.allow(10);
    k.now += second;
    for (const auto& [cost, steps] : {std::pair{1, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}, {10, 3}})
        BOOST_TEST(k.peek(cost).retry_after.count() == steps * 10 * second - second);
}

BOOST_AUTO_TEST_CASE(debt_is_repaid_step_by_step) {
    auto k = key_of(stepwise);
    BOOST_TEST(k.charge(13).rules[0].balance == -3);
    BOOST_TEST(k.peek(0).retry_after.count() == 10 * second);
    k.now += 10 * second;
    BOOST_TEST(k.peek(0).rules[0].balance == 1);
}

BOOST_AUTO_TEST_CASE(charges_saturate_at_what_366_days_repay) {
    auto k = key_of(token_bucket(1, 1, 24h).stepwise());
    k.charge(limits::max_exact_integer);
    BOOST_TEST((k.peek(0).reset_after == limits::max_repayment));
    k.charge(limits::max_exact_integer);
    BOOST_TEST((k.peek(0).reset_after == limits::max_repayment));
}

BOOST_AUTO_TEST_CASE(a_step_back_mints_nothing_and_costs_at_most_the_debt) {
    auto k = key_of(stepwise);
    k.allow(10);
    k.now -= 3'600 * second;
    BOOST_TEST(k.allow().retry_after.count() == 10 * second);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.now += 30 * second;
    BOOST_TEST(k.peek(0).remaining == 10);
}

BOOST_AUTO_TEST_CASE(an_aligned_boundary_crossed_twice_gives_twice) {
    auto k = key_of(aligned, start + 9 * second);
    k.allow(10);
    k.now += second;
    BOOST_TEST(k.allow(4).allowed());
    k.now -= second;
    BOOST_TEST(!k.allow().allowed());
    k.now += second;
    BOOST_TEST(k.allow(4).allowed());
    BOOST_TEST(!k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(a_step_forward_gives_at_most_one_capacity) {
    auto k = key_of(stepwise);
    k.charge(13);
    k.now = limits::max_time;
    BOOST_TEST(k.peek(0).remaining == 10);
}

BOOST_AUTO_TEST_CASE(continuous_and_stepped_buckets_read_each_others_debt) {
    auto k = key_of(token_bucket(10, 4, 10s));
    k.allow(7);
    k = under(k, stepwise);
    BOOST_TEST(k.peek(0).remaining == 3);
    k.now += 10 * second;
    BOOST_TEST(k.allow(7).allowed());
    k = under(k, token_bucket(20, 4, 10s));
    BOOST_TEST(k.peek(0).remaining == 10);
}

BOOST_AUTO_TEST_CASE(an_aligned_bucket_repays_another_kind_at_the_boundary_after_a_whole_period) {
    auto k = key_of(token_bucket(10, 4, 10s), start + 9 * second);
    k.allow(10);
    k = under(k, aligned);
    k.now += 2 * second; // over one boundary, though not for a period
    BOOST_TEST(k.peek(0).remaining == 0);
    BOOST_TEST(k.peek(1).retry_after.count() == 9 * second);
    k.now += 9 * second;
    BOOST_TEST(k.peek(0).remaining == 4);
}

BOOST_AUTO_TEST_CASE(
    an_aligned_bucket_repays_a_longer_period_a_whole_period_after_its_last_boundary) {
    constexpr auto base =
        std::int64_t{1'699'999'920} * second; // a multiple of 40, 45 and 10 seconds
    const auto aligned = [](std::chrono::microseconds period) {
        return token_bucket(5, 5, period).aligned().named("r");
    };
    const auto wait_after = [&](std::chrono::seconds period, std::chrono::microseconds step) {
        auto k = key_of(aligned(period), base + period.count() * second);
        BOOST_TEST(k.allow(5).allowed());
        k.now += second + step.count();
        k.policy = policy{"p", aligned(10s)};
        return k.allow().retry_after;
    };
    BOOST_TEST((wait_after(45s, 0s) == 14s)); // at 60, as at 50 only five seconds have passed
    BOOST_TEST((wait_after(40s, 0s) == 9s));  // at 50
    BOOST_TEST((wait_after(45s, -1h) == 4s)); // the clock was set back
}

BOOST_AUTO_TEST_CASE(other_numbers_neither_forgive_nor_lock_out) {
    auto k = key_of(stepwise);
    k.charge(10);
    BOOST_TEST(under(k, token_bucket(3, 1, 10s).stepwise()).peek(0).remaining == 0);
    BOOST_TEST(under(k, token_bucket(3, 1, 10s).stepwise()).peek(1).retry_after.count() ==
               10 * second);
    BOOST_TEST(under(k, token_bucket(30, 1, 10s).stepwise()).peek(0).remaining == 20);
}

BOOST_AUTO_TEST_CASE(a_new_key_starts_with_what_initially_says) {
    for (const auto& r : {token_bucket(10, 4, 10s), stepwise, aligned}) {
        auto k = key_of(r.initially(3));
        BOOST_TEST(k.peek(0).remaining == 3);
        BOOST_TEST(k.peek(4).retry_after.count() > 0);
        BOOST_TEST((k.last_effect == core::effect::nothing)); // a peek makes no key
        BOOST_TEST(k.allow(3).allowed());
        BOOST_TEST(!k.allow(1).allowed());
    }
}

BOOST_AUTO_TEST_CASE(even_a_refused_call_makes_the_key_of_an_initially_bucket) {
    for (const auto& r : {token_bucket(10, 4, 10s), stepwise, aligned}) {
        auto k = key_of(r.initially(0));
        BOOST_TEST(!k.allow(1).allowed());
        BOOST_TEST((k.last_effect == core::effect::store));
        BOOST_TEST(!k.allow(1).allowed());
        BOOST_TEST((k.last_effect == core::effect::nothing));
        k.now += 10 * second;
        BOOST_TEST(k.peek(0).remaining == 4);
        k.reset();
        BOOST_TEST(!k.allow(1).allowed()); // at the same instant
        BOOST_TEST((k.last_effect == core::effect::store));
    }
}

BOOST_AUTO_TEST_CASE(a_full_initially_bucket_is_kept_for_another_fill_time_and_then_gone) {
    // Empty at first; full after 10 s or a third of one (continuous) or 3 steps, kept as long
    // again.
    for (const auto& [r, fill] : {std::pair{token_bucket(10, 10, 10s).initially(0), 10 * second},
                                  std::pair{token_bucket(1, 3, 1s).initially(0), second / 3 + 1},
                                  std::pair{stepwise.initially(0), 30 * second}}) {
        auto k = key_of(r);
        k.charge(0);
        BOOST_TEST(core::lifetime(k.plan(), k.state.states, k.state, k.now) == 2 * fill);
        k.now += 2 * fill - 1;
        auto kept = k;
        BOOST_TEST(kept.peek(0).remaining == r.capacity());
        k.now += 1;
        BOOST_TEST(k.peek(0).remaining == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()

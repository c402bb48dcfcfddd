// SPDX-License-Identifier: BSL-1.0
//
// The sliding window counter: the previous window's share is exact, not rounded down.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

BOOST_AUTO_TEST_SUITE(sliding_window_counter)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'040} * second; // a multiple of a minute
constexpr auto minute = 60 * second;

[[nodiscard]] key_history key_of(const rule& r, std::int64_t begin = start) {
    return {policy{"p", r}, begin};
}

[[nodiscard]] key_history under(const key_history& k, const rule& r) {
    auto changed = k;
    changed.policy = policy{"p", r};
    return changed;
}

/// `previous` in one minute, `current` in the next, and then `elapsed` seconds into that.
[[nodiscard]] key_history counted(std::int64_t limit, std::int64_t previous, std::int64_t current,
                                  std::int64_t elapsed) {
    auto k = key_of(sliding_window(limit, 1min));
    k.charge(previous);
    k.now += minute + elapsed * second;
    k.charge(current);
    return k;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_previous_window_counts_by_what_is_left_of_it) {
    BOOST_TEST(counted(100, 40, 80, 30).peek().remaining == 0);
    BOOST_TEST(!counted(100, 40, 80, 30).peek().allowed());
    BOOST_TEST(counted(100, 40, 80, 40).peek().remaining == 6); // 93 1/3 are used
    BOOST_TEST(counted(100, 50, 10, 6).peek().remaining == 45);
}

BOOST_AUTO_TEST_CASE(half_a_token_is_not_rounded_away) {
    // 42 * 3/4 + 18 is 49.5: the 50th does not fit, in libraries that round down it does.
    auto k = counted(50, 42, 18, 15);
    const auto d = k.allow();
    BOOST_TEST(!d.allowed());
    BOOST_TEST(d.remaining == 0);
    // With 31 tokens of the previous window there is room: 42 * (60 - e)/60 at e = 15.7142857 s.
    BOOST_TEST(d.retry_after.count() == 714'286);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_within_the_window_as_the_previous_one_fades) {
    auto k = counted(10, 10, 0, 0);
    BOOST_TEST(k.peek(1).retry_after.count() == 6 * second);
    BOOST_TEST(k.peek(10).retry_after.count() == minute);
    k.now += 6 * second;
    BOOST_TEST(k.allow(1).remaining == 0);
}

BOOST_AUTO_TEST_CASE(a_wait_may_end_in_the_next_window_or_at_its_end) {
    auto k = counted(10, 0, 10, 30);
    BOOST_TEST(k.peek(1).retry_after.count() == 36 * second);
    BOOST_TEST(k.peek(5).retry_after.count() == minute);
    BOOST_TEST(k.peek(10).retry_after.count() == 90 * second);
    BOOST_TEST(k.peek(0).retry_after.count() == 0);
}

BOOST_AUTO_TEST_CASE(recovery_takes_until_the_last_window_with_a_count_has_passed) {
    BOOST_TEST(key_of(sliding_window(10, 1min)).peek().reset_after.count() == 0);
    BOOST_TEST(counted(10, 3, 0, 20).peek().reset_after.count() == 40 * second);
    BOOST_TEST(counted(10, 3, 1, 20).peek().reset_after.count() == 100 * second);
    auto k = counted(10, 3, 1, 20);
    k.now += 100 * second - 1;
    BOOST_TEST(k.peek().remaining == 9); // something is left of the share
    k.now += 1;
    BOOST_TEST(k.peek().remaining == 10);
}

BOOST_AUTO_TEST_CASE(a_window_without_calls_between_two_is_not_forgotten) {
    auto k = key_of(sliding_window(10, 1min));
    k.charge(10);
    k.now += 2 * minute - 1;
    BOOST_TEST(k.peek(10).retry_after.count() == 1);
    k.now += 1;
    BOOST_TEST(k.allow(10).allowed());
}

BOOST_AUTO_TEST_CASE(a_refund_lowers_the_current_window_only) {
    auto k = counted(10, 6, 2, 30);
    BOOST_TEST(k.peek(0).remaining == 5);
    BOOST_TEST(k.refund(1).remaining == 6);
    BOOST_TEST(k.refund(100).remaining == 7);
}

BOOST_AUTO_TEST_CASE(an_overdrawn_counter_has_a_signed_balance_and_an_end) {
    auto k = key_of(sliding_window(10, 1min));
    const auto d = k.charge(25);
    BOOST_TEST(d.rules[0].balance == -15);
    BOOST_TEST(d.retry_after.count() == minute + 36 * second); // 25 * 24/60 is 10
    k.now += minute;
    BOOST_TEST(k.peek(0).rules[0].balance == -15);
    k.now += 1;
    BOOST_TEST(k.peek(0).rules[0].balance == -15); // rounded down
    k.now += 36 * second - 1;
    BOOST_TEST(k.allow(0).allowed());
}

BOOST_AUTO_TEST_CASE(charges_saturate_where_the_products_stay_exact) {
    auto k = key_of(sliding_window(10, 24h));
    k.charge(limits::max_exact_integer);
    const auto most = k.state.states[0].debt;
    BOOST_TEST(most <= limits::max_exact_integer / 86'400'000'000);
    k.charge(limits::max_exact_integer);
    BOOST_TEST(k.state.states[0].debt == most);
    k.now += 2 * 86'400 * second;
    BOOST_TEST(k.allow(10).allowed());
    k.charge(most - 9);
    BOOST_TEST(k.state.states[0].debt == most);
}

BOOST_AUTO_TEST_CASE(counts_of_a_shorter_period_are_cut_to_what_stays_exact_in_a_longer_one) {
    auto k = key_of(sliding_window(10, 1s));
    k.charge(limits::max_exact_integer);
    auto longer = under(k, sliding_window(10, 24h));
    const auto most = longer.plan().rules()[0].debt_max;
    const auto owed_then = [&] {
        longer = under(k, sliding_window(10, 24h));
        BOOST_TEST(longer.peek(0).rules[0].balance == 0);
        const auto& s = longer.state.states[0];
        return s.debt - s.capacity;
    };
    BOOST_TEST(owed_then() <= most);
    k.now += second;
    BOOST_TEST(owed_then() <= most);
    k.charge(1);
    BOOST_TEST(owed_then() <= most);
}

BOOST_AUTO_TEST_CASE(a_window_of_a_microsecond_is_followed_by_one_in_which_it_counts) {
    auto k = key_of(sliding_window(5, std::chrono::microseconds{1}));
    k.charge(5);
    k.now += 1;
    BOOST_TEST(k.peek(1).retry_after.count() == 1);
    k.now += 1;
    BOOST_TEST(k.allow(5).allowed());
}

BOOST_AUTO_TEST_CASE(one_of_the_two_counts_is_enough_to_be_moved) {
    for (const auto& [previous, current] : {std::pair{6, 0}, {0, 2}}) {
        auto k = counted(10, previous, current, 0);
        k.now -= 3'600 * second;
        BOOST_TEST(!k.allow(10).allowed());
        BOOST_TEST((k.last_effect == core::effect::store));
    }
}

BOOST_AUTO_TEST_CASE(without_counts_another_period_is_no_reason_to_write) {
    const auto slow = gcra(1, 1h).named("slow");
    auto k = key_history{policy{"p", sliding_window(10, 1min).named("w"), slow}, start};
    k.allow();
    k.now += 30 * minute;
    k.policy = policy{"p", sliding_window(10, 2min).named("w"), slow};
    BOOST_TEST(!k.allow().allowed());
    BOOST_TEST((k.last_effect == core::effect::nothing));
}

BOOST_AUTO_TEST_CASE(after_a_step_back_a_later_window_is_the_current_one_with_its_counts) {
    auto k = counted(10, 6, 2, 30);
    k.now -= 3'600 * second;
    BOOST_TEST(k.peek(0).remaining == 5);
    k.allow(6);
    BOOST_TEST((k.last_effect == core::effect::store));
    k.now += 2 * minute;
    BOOST_TEST(k.allow(10).allowed());
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_exact_in_milliseconds_only_counts_from_whole_ones) {
    const auto r = sliding_window(1'000'000, 24h);
    auto k = key_of(r, start + 500);
    BOOST_REQUIRE(k.plan().rules()[0].unit == 1'000);
    k.allow(1'000'000);
    const auto d = k.allow();
    BOOST_TEST((k.now + d.retry_after.count()) % 1'000 == 0);
    auto early = k;
    early.now += d.retry_after.count() - 1;
    BOOST_TEST(!early.allow().allowed());
    k.now += d.retry_after.count();
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(counts_go_on_under_another_limit_and_another_period) {
    auto k = counted(10, 6, 2, 30);
    BOOST_TEST(under(k, sliding_window(20, 1min)).peek(0).remaining == 15);
    BOOST_TEST(under(k, sliding_window(3, 1min)).peek(0).rules[0].balance == -2);
    auto longer = under(k, sliding_window(10, 1h));
    BOOST_TEST(!longer.allow(10).allowed());
    BOOST_TEST((longer.last_effect == core::effect::nothing));
    BOOST_TEST(longer.peek(0).rules[0].balance < 10);
    auto shorter = under(k, sliding_window(10, 10s));
    BOOST_TEST(!shorter.allow(9).allowed());
    shorter.now += 20 * second;
    BOOST_TEST(shorter.allow(10).allowed());
}

BOOST_AUTO_TEST_CASE(what_another_period_has_left_counts_as_long_as_it_would_there) {
    constexpr auto seventy = std::int64_t{1'699'999'980} * second; // a multiple of 7 and 10 seconds
    constexpr auto ten = sliding_window(5, 10s);
    auto k = key_of(sliding_window(5, 7s), seventy + 43 * second);
    k.charge(5); // ends at 49, and fades until 56
    k.now = seventy + 51 * second;
    BOOST_TEST(under(k, ten).allow().retry_after.count() == 9 * second);
    k.now = seventy + 56 * second - 1;
    BOOST_TEST(!under(k, ten).allow().allowed());
    k.now += 1;
    BOOST_TEST(under(k, ten).allow().allowed());
}

BOOST_AUTO_TEST_CASE(what_a_longer_period_has_used_counts_until_the_next_window_ends) {
    constexpr auto ninety = std::int64_t{1'699'999'920} * second; // a multiple of 45 and 10 seconds
    auto k = key_of(sliding_window(5, 45s), ninety + 46 * second);
    k.charge(5);
    BOOST_TEST(under(k, sliding_window(5, 10s)).allow().retry_after.count() == 4 * second);
}

BOOST_AUTO_TEST_SUITE_END()

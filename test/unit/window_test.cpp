// SPDX-License-Identifier: BSL-1.0
//
// Counts that start anew with each window: aligned, from the first charge, of a calendar.

#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(windows)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::key_history;

constexpr auto second = std::int64_t{1'000'000};
constexpr auto start = std::int64_t{1'700'000'000} * second; // a multiple of 10 s

[[nodiscard]] key_history key_of(const rule& r, std::int64_t begin = start) {
    return {policy{"p", r.named("w")}, begin};
}

[[nodiscard]] key_history under(const key_history& k, const rule& r) {
    auto changed = k;
    changed.policy = policy{"p", r.named("w")};
    return changed;
}

[[nodiscard]] std::int64_t at(int y, unsigned m, unsigned d, std::chrono::hours h = 0h) {
    using namespace std::chrono;
    return microseconds{(sys_days{year{y} / month{m} / day{d}} + h).time_since_epoch()}.count();
}

constexpr auto aligned = fixed_window(5, 10s);
constexpr auto from_first = fixed_window(5, 10s).from_first();

} // namespace

BOOST_AUTO_TEST_CASE(an_aligned_window_ends_at_a_multiple_of_its_period) {
    auto k = key_of(aligned, start + 7 * second);
    BOOST_TEST(k.allow(5).reset_after.count() == 3 * second);
    BOOST_TEST(k.allow().retry_after.count() == 3 * second);
    k.now += 3 * second - 1;
    BOOST_TEST(!k.allow().allowed());
    k.now += 1;
    BOOST_TEST(k.allow().remaining == 4);
}

BOOST_AUTO_TEST_CASE(a_window_may_begin_with_the_first_charge_instead) {
    auto k = key_of(from_first, start + 7 * second);
    BOOST_TEST(k.allow(4).reset_after.count() == 10 * second);
    k.now += 9 * second;
    BOOST_TEST(k.allow(1).reset_after.count() == second);
    BOOST_TEST(k.allow().retry_after.count() == second);
    k.now += second;
    BOOST_TEST(k.allow().reset_after.count() == 10 * second);
}

BOOST_AUTO_TEST_CASE(what_charges_nothing_begins_no_window) {
    auto k = key_of(from_first);
    k.allow(0);
    k.charge(0);
    BOOST_TEST((k.last_effect == core::effect::nothing));
    k.now += 7 * second;
    BOOST_TEST(k.allow().reset_after.count() == 10 * second);
}

BOOST_AUTO_TEST_CASE(an_unused_window_has_nothing_to_reset) {
    for (const auto& r : {aligned, from_first, calendar(5, calendar_unit::month)}) {
        auto k = key_of(r);
        BOOST_TEST(k.peek(5).reset_after.count() == 0);
        k.allow(5);
        BOOST_TEST(k.refund(5).reset_after.count() == 0);
        BOOST_TEST((k.last_effect == core::effect::erase));
        k.allow(3);
        BOOST_TEST(k.refund(100).rules[0].balance == 5);
    }
}

BOOST_AUTO_TEST_CASE(what_was_charged_beyond_the_limit_ends_with_its_window) {
    auto k = key_of(aligned);
    BOOST_TEST(k.charge(8).rules[0].balance == -3);
    BOOST_TEST(k.allow(0).retry_after.count() == 10 * second);
    k.now += 10 * second;
    BOOST_TEST(k.peek(0).remaining == 5);
}

BOOST_AUTO_TEST_CASE(charges_stop_at_2_to_the_52) {
    constexpr auto most = std::int64_t{1} << 52;
    auto k = key_of(aligned);
    k.charge(limits::max_exact_integer);
    k.charge(limits::max_exact_integer);
    BOOST_TEST(k.peek(0).rules[0].balance == 5 - most);
    k = key_of(aligned);
    k.charge(7);
    BOOST_TEST(k.charge(most - 8).rules[0].balance == 5 - (most - 1));
    BOOST_TEST(k.charge(2).rules[0].balance == 5 - most);
}

BOOST_AUTO_TEST_CASE(after_a_step_back_a_later_window_is_the_current_one_with_its_count) {
    for (const auto& r : {aligned, from_first}) {
        auto k = key_of(r);
        k.allow(4);
        k.now -= 3'600 * second;
        BOOST_TEST(!k.allow(2).allowed());
        BOOST_TEST((k.last_effect == core::effect::store));
        BOOST_TEST(k.allow(2).retry_after.count() == 10 * second);
        BOOST_TEST((k.last_effect == core::effect::nothing));
        k.now += 10 * second;
        BOOST_TEST(k.allow(5).allowed());
    }
}

BOOST_AUTO_TEST_CASE(a_small_step_back_within_a_window_costs_nothing) {
    auto k = key_of(aligned, start + 7 * second);
    k.allow(4);
    k.now -= 2 * second;
    BOOST_TEST(k.allow(1).allowed());
    BOOST_TEST(k.allow(1).retry_after.count() == 5 * second);
}

BOOST_AUTO_TEST_CASE(what_was_used_counts_in_the_window_that_new_numbers_give) {
    auto k = key_of(aligned, start + 2 * second);
    k.allow(4);
    const auto shorter = under(k, fixed_window(5, 4s)).peek(2);
    BOOST_TEST(shorter.retry_after.count() == 2 * second);
    const auto longer = under(k, fixed_window(5, 1h)).peek(2);
    BOOST_TEST(longer.retry_after.count() == 3'600 * second - k.now % (3'600 * second));
    BOOST_TEST(under(k, fixed_window(3, 10s)).peek(0).rules[0].balance == -1);
    BOOST_TEST(under(k, fixed_window(9, 10s)).peek(0).remaining == 5);
    BOOST_TEST(under(k, from_first).peek(2).retry_after.count() == 8 * second);
    BOOST_TEST(under(k, calendar(5, calendar_unit::year)).peek(0).remaining == 1);
}

BOOST_AUTO_TEST_CASE(after_a_change_nobody_is_locked_out_longer_than_by_the_new_rule) {
    auto k = key_of(calendar(5, calendar_unit::year));
    k.allow(5);
    k = under(k, from_first);
    BOOST_TEST(k.allow().retry_after.count() == 10 * second);
    k.now += 10 * second;
    BOOST_TEST(k.allow().allowed());
}

BOOST_AUTO_TEST_CASE(what_a_longer_window_has_used_counts_until_the_next_end_of_a_shorter_one) {
    constexpr auto ninety = std::int64_t{1'699'999'920} * second; // a multiple of 45 and 10 seconds
    auto k = key_of(fixed_window(5, 45s), ninety + 46 * second);
    BOOST_TEST(k.allow(5).allowed());
    BOOST_TEST(under(k, aligned).allow().retry_after.count() == 4 * second);
}

BOOST_AUTO_TEST_CASE(a_day_of_another_offset_counts_in_the_day_in_which_it_ends) {
    for (const auto offset : {-18h, 8h}) {
        const auto there = calendar(5, calendar_unit::day, offset);
        auto k = key_of(there, at(2024, 3, 10, 12h));
        BOOST_TEST(k.allow(5).allowed());
        k.now = at(2024, 3, 10, 19h); // its next day has begun
        BOOST_TEST(under(k, there).allow().allowed());
        for (const auto& here : {calendar(5, calendar_unit::day), fixed_window(5, 24h)})
            BOOST_TEST(under(k, here).allow().retry_after.count() == 5 * 3'600 * second);
    }
}

BOOST_AUTO_TEST_CASE(a_month_is_as_long_as_it_is) {
    auto k = key_of(calendar(3, calendar_unit::month), at(2024, 2, 28, 23h));
    k.allow(3);
    BOOST_TEST((k.allow().retry_after == 25h)); // the 29th is to come
    k.now = at(2024, 3, 1) - 1;
    BOOST_TEST(!k.allow().allowed());
    k.now += 1;
    BOOST_TEST((k.allow(3).reset_after == 31 * 24h));
    k = key_of(calendar(3, calendar_unit::month), at(2100, 2, 28, 23h));
    BOOST_TEST((k.allow().reset_after == 1h));
}

BOOST_AUTO_TEST_CASE(a_day_begins_at_midnight_of_its_offset) {
    auto k = key_of(calendar(1, calendar_unit::day, 8h), at(2024, 5, 1, 15h));
    k.allow();
    BOOST_TEST((k.allow().retry_after == 1h));
    k = key_of(calendar(1, calendar_unit::day, -5h), at(2024, 5, 1, 15h));
    k.allow();
    BOOST_TEST((k.allow().retry_after == 14h));
}

BOOST_AUTO_TEST_CASE(a_week_begins_on_monday_and_a_year_in_january) {
    auto week = key_of(calendar(1, calendar_unit::week), at(2024, 12, 31));
    week.allow();
    BOOST_TEST((week.allow().retry_after == 6 * 24h));
    auto year = key_of(calendar(1, calendar_unit::year), at(2024, 1, 1));
    year.allow();
    BOOST_TEST((year.allow().retry_after == 366 * 24h));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The numbers that rules become: which values are errors, in which unit they are counted, where a
// charge stops, and how long they take to recover.

#include <colimit/policy.hpp>
#include <core/rule_kind.hpp>
#include <policy/policy_data.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(compiled_policies)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

constexpr auto exact = limits::max_exact_integer;
constexpr auto century = limits::max_recovery.count();
constexpr auto longest_debt = limits::max_repayment.count();
constexpr auto max_ticks = std::int64_t{1} << 52U;
constexpr auto day_us = std::int64_t{86'400'000'000};

/// Returns why a rule is not valid, without the position.
[[nodiscard]] std::string reason_of(const rule& r) {
    const auto whole =
        test::refusal(errc::invalid_policy, [&] { return policy{"p", r.named("r")}; });
    const std::string place = "policy 'p', rule 1 'r': ";
    return whole.starts_with(place) ? whole.substr(place.size()) : whole;
}

[[nodiscard]] bool is_accepted(const rule& r) {
    return reason_of(r) == "not refused";
}

[[nodiscard]] core::compiled_policy plan_of(const policy& p) {
    return detail::access::data(p)->compiled;
}

[[nodiscard]] core::compiled_rule limit_of(const rule& r) {
    return plan_of(policy{"p", r}).limits[0];
}

[[nodiscard]] std::int64_t recovery_of(const rule& r) {
    return core::full_recovery(limit_of(r));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_bucket_starts_with_0_to_its_capacity) {
    const auto r = token_bucket(9, 3, 1s);
    BOOST_TEST(is_accepted(r.initially(0)));
    BOOST_TEST(is_accepted(r.initially(9)));
    BOOST_TEST(reason_of(r.initially(-1)) == "it must start with 0 to 9 tokens, not -1");
    BOOST_TEST(reason_of(r.initially(10)) == "it must start with 0 to 9 tokens, not 10");
    BOOST_TEST(limit_of(r.initially(7)).initial == limit_of(r).debt_limit - 7 * limit_of(r).num);
    BOOST_TEST(limit_of(r).initial == core::starts_full);
}

BOOST_AUTO_TEST_CASE(what_only_some_algorithms_have_is_refused_for_others) {
    BOOST_TEST(reason_of(fixed_window(5, 1s).initially(1)) ==
               "initially is for buckets, not for fixed_window");
    BOOST_TEST(reason_of(sliding_window(5, 1s).stepwise()) ==
               "stepwise is for buckets, not for sliding_window");
    BOOST_TEST(reason_of(sliding_log(5, 1s).aligned()) ==
               "aligned is for buckets, not for sliding_log");
    BOOST_TEST(reason_of(distinct(5, 1s).burst(6)) == "burst is for buckets, not for distinct");
    BOOST_TEST(reason_of(gcra(5, 1s).from_first()) ==
               "from_first is for fixed_window, not for gcra");
    BOOST_TEST(reason_of(gcra(5, 1s).count_denied()) ==
               "count_denied is for sliding_log, not for gcra");
}

BOOST_AUTO_TEST_CASE(a_sliding_log_remembers_as_many_events_as_its_limit_says) {
    BOOST_TEST(is_accepted(sliding_log(limits::max_log_events, 1s)));
    BOOST_TEST(!is_accepted(sliding_log(limits::max_log_events + 1, 1s)));
    const auto logs = policy{"p", sliding_log(9, 3s).named("a"), sliding_log(5, 7s).named("b"),
                             sliding_log(7, 2s).named("c"), gcra(100, 1h)};
    BOOST_TEST(core::log_period(plan_of(logs)) == 7'000'000);
    BOOST_TEST(core::log_capacity(plan_of(logs)) == 2 * 9 + 16);
}

BOOST_AUTO_TEST_CASE(a_bucket_recovers_within_a_century_in_each_unit) {
    BOOST_TEST(is_accepted(gcra(2, 1us).burst(2 * century)));
    BOOST_TEST(!is_accepted(gcra(2, 1us).burst(2 * century + 1)));
    BOOST_TEST(is_accepted(gcra(1, 1s).burst(century / 1'000'000)));
    BOOST_TEST(!is_accepted(gcra(1, 1s).burst(century / 1'000'000 + 1)));
    BOOST_TEST(!is_accepted(gcra(1, 1s).burst(exact)));
}

BOOST_AUTO_TEST_CASE(a_stepped_bucket_recovers_within_a_century) {
    const auto stepped = [](std::int64_t capacity, std::int64_t count, auto period) {
        return token_bucket(capacity, count, period).stepwise();
    };
    BOOST_TEST(is_accepted(stepped(century, 1, 1us)));
    BOOST_TEST(reason_of(stepped(century + 1, 1, 1us)) ==
               "full recovery: too long (got 101 years, expected at most 100 years)");
    BOOST_TEST(is_accepted(stepped(2 * century, 2, 1us)));
    BOOST_TEST(!is_accepted(stepped(2 * century + 1, 2, 1us)));
    BOOST_TEST(is_accepted(stepped(century / 1'000'000, 1, 1s)));
    BOOST_TEST(!is_accepted(stepped(century / 1'000'000 + 1, 1, 1s).aligned()));
}

BOOST_AUTO_TEST_CASE(a_counter_is_counted_in_the_finest_unit_in_which_it_stays_exact) {
    const auto unit = [](const rule& r) { return limit_of(r).unit; };
    BOOST_TEST(unit(sliding_window(104'249, 24h)) == 1);
    BOOST_TEST(unit(sliding_window(104'250, 24h)) == 1'000);
    BOOST_TEST(limit_of(sliding_window(104'250, 24h)).period == 86'400'000);
    BOOST_TEST(unit(sliding_window(104'249'991, 24h)) == 1'000);
    BOOST_TEST(unit(sliding_window(104'249'992, 24h)) == 1'000'000);
    BOOST_TEST(unit(sliding_window(exact, 1us)) == 1);
    const std::string inexact = "limit times period is too large to be counted exactly: choose a "
                                "smaller limit, or a period of whole milliseconds or seconds";
    BOOST_TEST(reason_of(sliding_window(104'250, 86'400'000'001us)) == inexact);
    BOOST_TEST(reason_of(sliding_window(104'249'992, 86'400'001ms)) == inexact);
    BOOST_TEST(reason_of(sliding_window(exact, 24h)) == inexact);
}

BOOST_AUTO_TEST_CASE(a_charge_stops_where_its_rule_stays_exact_but_never_below_the_limit) {
    const auto most = [](const rule& r) { return limit_of(r).debt_max; };
    BOOST_TEST(most(gcra(104'729, 24h)) == longest_debt / 1'000 * 104'729);
    BOOST_TEST(most(token_bucket(5, 3, 7us).stepwise()) == longest_debt / 7 * 3);
    BOOST_TEST(most(token_bucket(5, 1'000, 1us).aligned()) == max_ticks);
    BOOST_TEST(most(token_bucket(9, 9, limits::max_recovery).stepwise()) == 9);
    BOOST_TEST(most(fixed_window(5, 1s)) == max_ticks);
    BOOST_TEST(most(fixed_window(exact, 1s)) == exact);
    BOOST_TEST(most(sliding_window(5, 1s)) == max_ticks / 1'000'000);
    BOOST_TEST(most(sliding_window(exact, 1us)) == exact);
}

BOOST_AUTO_TEST_CASE(duplicates_are_prevented_for_1_us_to_366_days) {
    const auto reason = [](std::chrono::nanoseconds period) {
        return test::refusal(errc::invalid_policy,
                             [&] { return policy{"p", gcra(1, 1s)}.prevent_duplicate(period); });
    };
    constexpr auto most = limits::max_repayment;
    BOOST_TEST(reason(1us) == "not refused");
    BOOST_TEST(reason(most) == "not refused");
    const std::string range =
        "policy 'p': prevent_duplicate must be a whole number of microseconds, 1 us to 366 days";
    BOOST_TEST(reason(-1us) == range + " (got -1 us)");
    BOOST_TEST(reason(most + 1us) == range + " (got 31622400000001 us)");
    BOOST_TEST(reason(1ns) == range);
    BOOST_TEST(plan_of(policy{"p", gcra(1, 1s)}).state_count == 1U);
    BOOST_TEST(plan_of(policy{"p", gcra(1, 1s)}.prevent_duplicate(1us)).state_count == 2U);
}

BOOST_AUTO_TEST_CASE(a_full_recovery_is_rounded_up_to_the_unit_of_its_rule) {
    BOOST_TEST(recovery_of(gcra(1, 1s).burst(10)) == 10'000'000);
    BOOST_TEST(recovery_of(gcra(3, 1s).burst(10)) == 3'333'334);
    BOOST_TEST(recovery_of(gcra(104'729, 24h)) == day_us);
    BOOST_TEST(recovery_of(gcra(104'729, 24h).burst(104'730)) == day_us + 825'000);
    BOOST_TEST(recovery_of(token_bucket(9, 3, 7us).stepwise()) == 3 * 7);
    BOOST_TEST(recovery_of(token_bucket(10, 3, 7us).aligned()) == 4 * 7);
    BOOST_TEST(recovery_of(fixed_window(5, 7us)) == 7);
    BOOST_TEST(recovery_of(sliding_window(5, 7us)) == 2 * 7);
    BOOST_TEST(recovery_of(sliding_window(104'250, 24h)) == 2 * day_us);
    BOOST_TEST(recovery_of(calendar(5, calendar_unit::day)) == day_us);
    BOOST_TEST(recovery_of(calendar(5, calendar_unit::week)) == 7 * day_us);
    BOOST_TEST(recovery_of(calendar(5, calendar_unit::month)) == 31 * day_us);
    BOOST_TEST(recovery_of(calendar(5, calendar_unit::year)) == 366 * day_us);
}

BOOST_AUTO_TEST_CASE(packed_states_are_kept_for_exactly_the_slowest_recovery) {
    const auto generation = [](const policy& p) {
        return plan_of(p.with_storage(storage::shared_hash)).generation;
    };
    const auto slow = gcra(1, 1h).named("slow");
    const auto quick = gcra(3, 1s).burst(10).named("quick");
    BOOST_TEST(generation(policy{"p", quick}) == 3'333'334);
    BOOST_TEST(generation(policy{"p", quick.initially(0)}) == 2 * 3'333'334);
    BOOST_TEST(generation(policy{"p", slow, quick}) == day_us / 24);
    BOOST_TEST(generation(policy{"p", quick, slow}) == day_us / 24);
    auto rules = std::vector<rule>{slow};
    for (int i = 1; i < 8; ++i)
        rules.push_back(quick.named(std::to_string(i)));
    BOOST_TEST(generation(policy{"p", rules}.prevent_duplicate(2h)) == day_us / 12);
}

BOOST_AUTO_TEST_CASE(only_continuous_buckets_that_are_kept_apart_can_be_waited_for) {
    const auto can_reserve = [](const policy& p) { return plan_of(p).can_reserve; };
    const auto bucket = gcra(5, 1s);
    BOOST_TEST(can_reserve(policy{"p", bucket, bucket.named("b")}));
    BOOST_TEST(!can_reserve(policy{"p", bucket, fixed_window(5, 1s)}));
    BOOST_TEST(!can_reserve(policy{"p", fixed_window(5, 1s), bucket}));
    BOOST_TEST(!can_reserve(policy{"p", bucket.stepwise()}));
    BOOST_TEST(!can_reserve(policy{"p", bucket}.with_storage(storage::shared_hash)));
}

BOOST_AUTO_TEST_CASE(a_plan_says_what_its_rules_are) {
    const auto plain = plan_of(policy{"p", gcra(5, 1s)});
    BOOST_TEST(!plain.has_log);
    BOOST_TEST(!plain.has_distinct);
    BOOST_TEST(!plain.counts_denied);
    BOOST_TEST(!plain.shadow);
    BOOST_TEST(!plain.packed);
    BOOST_TEST(plain.generation == 0);
    const auto mixed = plan_of(
        policy{"p", sliding_log(5, 1s).count_denied(), distinct(5, 1s), gcra(5, 1s)}.shadow());
    BOOST_TEST(mixed.has_log);
    BOOST_TEST(mixed.has_distinct);
    BOOST_TEST(mixed.counts_denied);
    BOOST_TEST(mixed.shadow);
    BOOST_TEST(!plan_of(policy{"p", sliding_log(5, 1s)}).counts_denied);
}

BOOST_AUTO_TEST_SUITE_END()

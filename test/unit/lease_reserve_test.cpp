// SPDX-License-Identifier: BSL-1.0
//
// What leases cost a policy: the capacity that they leave, against a reference, and which rules may
// have leases of which length.

#include <colimit/policy.hpp>
#include <core/lease_reserve.hpp>
#include <core/rule_kind.hpp>
#include <policy/policy_data.hpp>
#include <policy/scaled_policy.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(lease_reserves)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using std::chrono::microseconds;
__extension__ using exact = __int128;

[[nodiscard]] const core::compiled_rule& rule_of(const policy& p, std::size_t i = 0) {
    return detail::access::data(p)->compiled.limits[i];
}

[[nodiscard]] std::string reason_of(const rule& r, microseconds length) {
    return test::refusal(errc::invalid_policy,
                         [&] { return policy{"p", r.named("r")}.with_leases(length); });
}

void check_refused(const rule& r, microseconds length, const std::string& reason) {
    BOOST_TEST(reason_of(r, length) == "policy 'p', rule 1 'r': " + reason);
}

void check_tenth(const rule& r, microseconds longest, const std::string& numbers) {
    BOOST_TEST(reason_of(r, longest) == "not refused");
    check_refused(r, longest + 1us,
                  "leases: longer than a tenth of the time in which it fills (" + numbers + ")");
}

void check_period(const rule& r, microseconds longest, const std::string& numbers) {
    BOOST_TEST(reason_of(r, longest) == "not refused");
    check_refused(r, longest + 1us, "leases: longer than its period (" + numbers + ")");
}

/// Checks that a policy decides with the numbers of another rule.
void check_decides_as(const rule& r, microseconds length, const rule& expected) {
    const auto made = policy{"p", r}.with_leases(length);
    BOOST_TEST((rule_of(made) == rule_of(policy{"p", expected})));
    BOOST_TEST((made[0] == r));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_continuous_bucket_pays_for_leases_with_its_burst) {
    check_decides_as(gcra(100, 1s), 100ms, gcra(100, 1s).burst(90));
    check_decides_as(gcra(100, 1s).burst(300), 100ms, gcra(100, 1s).burst(290));
    check_decides_as(gcra(100, 1s), 1ms, gcra(100, 1s).burst(99));
    check_decides_as(gcra(100, 1s), 10'001us, gcra(100, 1s).burst(98));
    check_decides_as(token_bucket(40, 5, 1min), 30s, token_bucket(37, 5, 1min));
    check_decides_as(leaky_bucket(40, 5, 1min), 30s, leaky_bucket(37, 5, 1min));
    check_decides_as(cell(15, 30, 60s), 1s, cell(14, 30, 60s));
}

BOOST_AUTO_TEST_CASE(initial_tokens_are_at_most_what_is_left) {
    check_decides_as(token_bucket(100, 100, 1s).initially(7), 100ms,
                     token_bucket(90, 100, 1s).initially(7));
    check_decides_as(token_bucket(100, 100, 1s).initially(95), 100ms,
                     token_bucket(90, 100, 1s).initially(90));
}

BOOST_AUTO_TEST_CASE(other_rules_keep_their_limits) {
    for (const auto& r : {token_bucket(100, 10, 1s).stepwise(), token_bucket(100, 10, 1s).aligned(),
                          fixed_window(100, 1s), fixed_window(100, 1s).from_first(),
                          sliding_window(100, 1s), calendar(100, calendar_unit::day)})
        check_decides_as(r, 100ms, r);
}

BOOST_AUTO_TEST_CASE(the_capacity_is_that_of_exact_arithmetic) {
    auto random = std::mt19937_64{1};
    const auto below = [&](std::int64_t most) { // of any order of magnitude
        const auto bits = random() % 62;
        return static_cast<std::int64_t>(random() >> (63 - bits)) % most + 1;
    };
    auto made = 0;
    while (made < 3'000) {
        const auto count = below(1'000'000'000'000);
        const auto capacity = below(1'000'000'000'000);
        const auto period = microseconds{below(100'000'000'000'000)};
        const auto length = microseconds{999 + below(3'599'999'001)};
        const auto r = token_bucket(capacity, count, period);
        auto p = policy{"p", gcra(1, 1s)};
        try {
            p = policy{"p", r}.with_leases(length);
        } catch (const error&) {
            continue; // too long for this rule, or not exact
        }
        ++made;
        const auto reserve = (exact{count} * length.count() + period.count() - 1) / period.count();
        BOOST_REQUIRE(exact{capacity} - reserve == rule_of(p).capacity);
        BOOST_REQUIRE(rule_of(p).capacity >= 1);
    }
}

BOOST_AUTO_TEST_CASE(products_are_exact_beyond_64_bits) {
    auto random = std::mt19937_64{2};
    for (auto i = 0; i < 100'000; ++i) {
        const auto c = static_cast<std::int64_t>(random() >> (4 + random() % 60)) + 1;
        const auto a = static_cast<std::int64_t>(random() >> (2 + random() % 62));
        const auto most = exact{std::int64_t{1} << 61} * c / (a + 1);
        const auto b = most > INT64_MAX ? static_cast<std::int64_t>(random() >> 2)
                                        : static_cast<std::int64_t>(random() >> 1) %
                                              (static_cast<std::int64_t>(most) + 1);
        BOOST_REQUIRE((exact{a} * b + c - 1) / c == core::ceil_of_product(a, b, c));
    }
    BOOST_TEST(core::ceil_of_product(0, 7, 3) == 0);
    BOOST_TEST(core::ceil_of_product(7, 0, 3) == 0);
    BOOST_TEST(core::ceil_of_product(6, 7, 3) == 14);
    BOOST_TEST(core::ceil_of_product(6, 7, 4) == 11);
}

BOOST_AUTO_TEST_CASE(leases_last_at_most_a_tenth_of_the_time_in_which_a_bucket_fills) {
    check_tenth(gcra(100, 1s), 100ms, "got 100001 us, expected at most 100000 us");
    check_tenth(gcra(100, 1s).burst(50), 50ms, "got 50001 us, expected at most 50000 us");
    check_tenth(gcra(10, 1s).burst(1'000), 10s, "got 10000001 us, expected at most 10000000 us");
    check_tenth(token_bucket(10, 10, 1s).stepwise(), 100ms,
                "got 100001 us, expected at most 100000 us");
    check_tenth(token_bucket(10, 10, 1s).aligned(), 100ms,
                "got 100001 us, expected at most 100000 us");
}

BOOST_AUTO_TEST_CASE(leases_last_at_most_a_period) {
    const std::string numbers = "got 20001 us, expected at most 20000 us";
    check_period(fixed_window(5, 20ms), 20ms, numbers);
    check_period(fixed_window(5, 20ms).from_first(), 20ms, numbers);
    check_period(sliding_window(5, 20ms), 20ms, numbers);
    check_period(token_bucket(100, 1, 20ms).stepwise(), 20ms, numbers);
    check_period(token_bucket(100, 1, 20ms).aligned(), 20ms, numbers);
    BOOST_TEST(reason_of(calendar(5, calendar_unit::day), 1h) == "not refused");
}

BOOST_AUTO_TEST_CASE(rules_that_promise_more_have_no_leases) {
    check_refused(sliding_log(20, 1s), 10ms, "a sliding_log cannot have leases");
    check_refused(distinct(20, 1s), 10ms, "a distinct cannot have leases");
    const auto both = [](auto first, auto second) {
        BOOST_TEST(test::refusal(errc::invalid_policy, [&] {
                       return second(first(policy{"p", gcra(100, 1s)}));
                   }) == "policy 'p': leases: not with prevent_duplicate");
    };
    const auto leased = [](const policy& p) { return p.with_leases(10ms); };
    const auto once = [](const policy& p) { return p.prevent_duplicate(1s); };
    both(leased, once);
    both(once, leased);
}

BOOST_AUTO_TEST_CASE(one_rule_of_several_is_enough_to_refuse) {
    BOOST_TEST(test::refusal(errc::invalid_policy, [] {
                   return policy{"p", gcra(100, 1s), sliding_log(5, 1s)}.with_leases(10ms);
               }) == "policy 'p', rule 2 'sliding_log': a sliding_log cannot have leases");
}

BOOST_AUTO_TEST_CASE(at_least_one_token_is_left) {
    check_refused(gcra(1, 1s), 100ms,
                  "leases: leave no token, as it refills 1 within their 100000 us and its "
                  "capacity is 1");
    check_decides_as(gcra(2, 1s), 100ms, gcra(2, 1s).burst(1));
}

BOOST_AUTO_TEST_CASE(lengths_are_a_millisecond_to_an_hour) {
    const auto r = gcra(1'000'000, 24h * 30);
    const std::string range = "expected 1000 us to 3600000000 us)";
    const auto refusal_of = [&](auto length) {
        return test::refusal(errc::invalid_policy,
                             [&] { return policy{"p", r}.with_leases(length); });
    };
    BOOST_TEST(refusal_of(1ms) == "not refused");
    BOOST_TEST(refusal_of(1h) == "not refused");
    const std::string start = "policy 'p': leases: out of range (got ";
    BOOST_TEST(refusal_of(0ms) == start + "0 us, " + range);
    BOOST_TEST(refusal_of(-5ms) == start + "-5000 us, " + range);
    BOOST_TEST(refusal_of(999us) == start + "999 us, " + range);
    BOOST_TEST(refusal_of(1h + 1us) == start + "3600000001 us, " + range);
    BOOST_TEST(refusal_of(1500ns) == "policy 'p': leases: must be a whole number of microseconds");
    BOOST_TEST(refusal_of(std::chrono::years{1'000'000}) ==
               "policy 'p': leases: must be a whole number of microseconds");
}

BOOST_AUTO_TEST_CASE(commands_know_no_leases) {
    BOOST_TEST(
        test::refusal(
            errc::invalid_policy,
            [] { return policy{"CL.THROTTLE", gcra(100, 1s).named("cell")}.with_leases(10ms); }) ==
        "policy 'CL.THROTTLE': shares the states of commands, whose capacity is not "
        "lower, so it has no leases");
}

BOOST_AUTO_TEST_CASE(a_policy_says_how_long_its_leases_are) {
    const auto p = policy{"p", fixed_window(5, 1s)};
    BOOST_TEST((p.leases() == 0us));
    const auto leased = p.with_leases(100ms);
    BOOST_TEST((leased.leases() == 100ms));
    BOOST_TEST(!(leased == p));
    BOOST_TEST(!(leased == p.with_leases(101ms)));
    BOOST_TEST((leased.shadow().with_prefix("x").leases() == 100ms));
    // The same numbers, but tokens that one has taken must not be spent by the other.
    BOOST_TEST(detail::access::data(leased)->fingerprint != detail::access::data(p)->fingerprint);
    BOOST_TEST(detail::access::data(leased)->wire == detail::access::data(p)->wire);
}

BOOST_AUTO_TEST_CASE(a_process_that_decides_alone_keeps_to_what_is_left) {
    const auto scaled_of = [](const rule& r, fraction part) {
        const auto p = policy{"p", r}.with_leases(100ms);
        const auto made = detail::scaled(*detail::access::data(p), part);
        BOOST_TEST((made.leases() == 0us));
        return made[0];
    };
    BOOST_TEST((scaled_of(gcra(100, 1s), {1, 3}) == gcra(100, 3s).burst(30)));
    BOOST_TEST(
        (scaled_of(gcra(100, 1s).initially(95), {1, 3}) == gcra(100, 3s).burst(30).initially(30)));
    BOOST_TEST((scaled_of(gcra(2, 1s), {1, 3}) == gcra(2, 3s).burst(1)));
    BOOST_TEST((scaled_of(fixed_window(90, 1s), {1, 3}) == fixed_window(30, 1s)));
}

BOOST_AUTO_TEST_SUITE_END()

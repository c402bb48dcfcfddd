// SPDX-License-Identifier: BSL-1.0
//
// Policies: which rules make one, in which unit they run, and errors and their messages.

#include <colimit/policy.hpp>
#include <core/state_encoding.hpp>
#include <policy/policy_data.hpp>
#include <support/random_rule.hpp>
#include <support/refusal.hpp>
#include <support/rounds.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(policies)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto exact = limits::max_exact_integer;

__extension__ using wide = __int128;

template<class... Rules>
[[nodiscard]] std::string reason(std::string_view name, const Rules&... rules) {
    return test::refusal(errc::invalid_policy, [&] { return policy{name, rules...}; });
}

[[nodiscard]] std::string reason(const std::vector<rule>& rules) {
    return test::refusal(errc::invalid_policy, [&] { return policy{"p", rules}; });
}

/// Returns why a rule is not valid, without the position.
[[nodiscard]] std::string reason_of(const rule& r) {
    const auto whole = reason("p", r.named("r"));
    const std::string place = "policy 'p', rule 1 'r': ";
    return whole.starts_with(place) ? whole.substr(place.size()) : whole;
}

[[nodiscard]] core::compiled_rule bucket_of(const rule& r) {
    return detail::access::data(policy{"p", r})->compiled.rules()[0];
}

[[nodiscard]] std::vector<rule> numbered(std::size_t count) {
    std::vector<rule> rules;
    while (rules.size() < count)
        rules.push_back(gcra(1, 1s).named("r" + std::to_string(rules.size())));
    return rules;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_policy_keeps_its_name_and_rules_in_order) {
    const auto first = gcra(5, 1s).burst(10);
    const auto second = token_bucket(20, 20, 1min).named("minute").shadow();
    const policy p{"login", first, second};
    BOOST_TEST(p.name() == "login");
    BOOST_TEST_REQUIRE(p.size() == 2U);
    BOOST_TEST((p[0] == first));
    BOOST_TEST((p[1] == second));
    BOOST_TEST(!detail::access::data(p)->compiled.rules()[0].shadow);
    BOOST_TEST(detail::access::data(p)->compiled.rules()[1].shadow);
    BOOST_TEST(detail::access::data(policy(p)) == detail::access::data(p));
}

BOOST_AUTO_TEST_CASE(a_policy_has_1_to_8_rules) {
    BOOST_TEST(policy("p", numbered(8)).size() == 8U);
    BOOST_TEST(reason(numbered(0)) == "policy 'p': must have 1 to 8 rules, has 0");
    BOOST_TEST(reason(numbered(9)) == "policy 'p': must have 1 to 8 rules, has 9");
    BOOST_TEST(reason(numbered(300)) == "policy 'p': must have 1 to 8 rules, has 300");
}

BOOST_AUTO_TEST_CASE(the_name_of_a_policy_has_1_to_64_characters_of_its_alphabet) {
    const auto r = gcra(1, 1s);
    BOOST_TEST(policy(std::string(64, 'x'), r).name().size() == 64U);
    BOOST_TEST(policy("aZ09_.-", r).name() == "aZ09_.-");
    BOOST_TEST(reason("", r) ==
               "the policy's name is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed");
    BOOST_TEST(reason(std::string(65, 'x'), r) == "the policy's name is longer than 64 characters");
    for (const auto* const name : {"a b", "a:b", "a{b", "a\rb", "a\xc3\xa9"})
        BOOST_TEST(reason(name, r) ==
                   "the policy's name: character 2 is not one of [A-Za-z0-9_.-]");
    BOOST_TEST(reason(std::string_view{"a\0", 2}, r) ==
               "the policy's name: character 2 is not one of [A-Za-z0-9_.-]");
}

BOOST_AUTO_TEST_CASE(the_name_of_a_rule_has_1_to_64_characters_of_its_alphabet) {
    const auto r = gcra(1, 1s);
    BOOST_TEST(policy("p", r.named(std::string(64, 'x')))[0].name().size() == 64U);
    BOOST_TEST(reason("p", r, r.named("")) == "policy 'p', rule 2: the name is empty: 1 to 64 "
                                              "characters of [A-Za-z0-9_.-] are allowed");
    BOOST_TEST(reason("p", r.named(std::string(65, 'x'))) ==
               "policy 'p', rule 1: the name is longer than 64 characters");
    BOOST_TEST(reason("p", r.named("a\nb")) ==
               "policy 'p', rule 1: the name: character 2 is not one of [A-Za-z0-9_.-]");
}

BOOST_AUTO_TEST_CASE(two_rules_of_a_policy_do_not_share_a_name) {
    const std::string twin = "another rule of this policy has this name; name them apart with "
                             ".named(...)";
    const auto r = gcra(1, 1s);
    BOOST_TEST(reason("p", r, r.burst(2)) == "policy 'p', rule 2 'gcra': " + twin);
    BOOST_TEST(reason("p", r.named("x"), r, cell(1, 1, 1s).named("x")) ==
               "policy 'p', rule 3 'x': " + twin);
    BOOST_TEST(reason("p", r, r.named("Gcra")) == "not refused");
}

BOOST_AUTO_TEST_CASE(numbers_outside_1_to_2_to_the_53_are_refused_with_rule_and_reason) {
    BOOST_TEST(reason("p", gcra(1, 1s), gcra(0, 1s).named("second")) ==
               "policy 'p', rule 2 'second': the count must be 1 to 9007199254740991 (got 0)");
    for (const auto n : {least, -exact, std::int64_t{-1}, std::int64_t{0}, exact + 1, most}) {
        const auto tail = " must be 1 to 9007199254740991 (got " + std::to_string(n) + ")";
        BOOST_TEST(reason_of(gcra(n, 1s)) == "the count" + tail);
        BOOST_TEST(reason_of(gcra(n, 1s).burst(1)) == "the count" + tail);
        BOOST_TEST(reason_of(gcra(1, 1s).burst(n)) == "the capacity" + tail);
        BOOST_TEST(reason_of(token_bucket(n, 1, 1s)) == "the capacity" + tail);
        BOOST_TEST(reason_of(leaky_bucket(1, n, 1s)) == "the count" + tail);
        BOOST_TEST(reason_of(cell(1, n, 1s)) == "the count" + tail);
    }
    const std::string cell_range =
        "the capacity (max_burst + 1) must be 1 to 9007199254740991 (got ";
    BOOST_TEST(reason_of(cell(-1, 1, 1s)) == cell_range + "0)");
    BOOST_TEST(reason_of(cell(least, 1, 1s)) == cell_range + "0)");
    BOOST_TEST(reason_of(cell(exact, 1, 1s)) == cell_range + "9007199254740992)");
    BOOST_TEST(reason_of(cell(most, 1, 1s)) == cell_range + "9223372036854775807)");
}

BOOST_AUTO_TEST_CASE(periods_are_1_us_to_100_years_of_whole_microseconds) {
    constexpr auto century = limits::max_recovery;
    BOOST_TEST(reason_of(gcra(1, 1us)) == "not refused");
    BOOST_TEST(reason_of(gcra(1, century)) == "not refused");
    const std::string range = "the period must be 1 us to 100 years (got ";
    BOOST_TEST(reason_of(gcra(1, 0s)) == range + "0 us)");
    BOOST_TEST(reason_of(gcra(1, -1us)) == range + "-1 us)");
    BOOST_TEST(reason_of(gcra(1, century + 1us)) == range + "3155760000000001 us)");
    BOOST_TEST(reason_of(gcra(1, std::chrono::microseconds::max())) ==
               range + "9223372036854775807 us)");
    const std::string whole = "the period must be a whole number of microseconds that fits 64 bits";
    BOOST_TEST(reason_of(gcra(1, 1500ns)) == whole);
    BOOST_TEST(reason_of(gcra(1, std::chrono::hours::max())) == whole);
    BOOST_TEST(reason_of(gcra(1, std::chrono::microseconds::min())) == whole);
}

BOOST_AUTO_TEST_CASE(a_recovery_above_100_years_is_refused) {
    constexpr auto century = limits::max_recovery.count();
    const auto slow = [](std::string years) {
        return "full recovery: too long (got " + years + " years, expected at most 100 years)";
    };
    BOOST_TEST(reason_of(gcra(1, 1us).burst(century)) == "not refused");
    BOOST_TEST(reason_of(gcra(1, 1us).burst(century + 1)) == slow("101"));
    BOOST_TEST(reason_of(gcra(1, limits::max_recovery).burst(2)) == slow("200"));
    BOOST_TEST(reason_of(gcra(2, limits::max_recovery).burst(2)) == "not refused");
    BOOST_TEST(reason_of(gcra(1, 1us).burst(exact)) == slow("286"));
}

BOOST_AUTO_TEST_CASE(rules_run_in_the_finest_unit_in_which_they_stay_exact) {
    const auto unit = [](const rule& r) { return bucket_of(r).unit; };
    BOOST_TEST(unit(gcra(5, 1s)) == 1);
    BOOST_TEST(unit(gcra(104'729, 24h)) == 1'000); // the product passes 2^53 in microseconds
    BOOST_TEST(unit(gcra(104'729, 24h).burst(104'249)) == 1);
    BOOST_TEST(unit(gcra(104'729, 24h).burst(104'250)) == 1'000);
    BOOST_TEST(unit(gcra(104'729, 24h).burst(104'249'991)) == 1'000);
    BOOST_TEST(unit(gcra(104'729, 24h).burst(104'249'992)) == 1'000'000);
    BOOST_TEST(unit(gcra(100'000, 24h)) == 1); // 864,000 us a token
    BOOST_TEST(unit(gcra(std::int64_t{1} << 31U, 1s)) == 1);
    BOOST_TEST(unit(gcra(std::int64_t{1} << 32U, 1s)) == 1);
    BOOST_TEST(unit(gcra(std::int64_t{1} << 52U, 1us)) == 1);
    BOOST_TEST(unit(gcra(exact, 1us)) == 1);
    BOOST_TEST(unit(gcra(exact, 24h).burst(1)) == 1);
}

BOOST_AUTO_TEST_CASE(numbers_that_stay_exact_in_no_unit_are_refused) {
    const std::string inexact =
        "capacity times period is too large to be counted exactly: choose a smaller burst, or a "
        "period of whole milliseconds or seconds";
    // In milliseconds both would do, but their periods have none.
    BOOST_TEST(reason_of(gcra(104'729, 86'400'000'001us)) == inexact);
    BOOST_TEST(reason_of(gcra(104'729, 86'400'001ms).burst(1'000'000'000)) == inexact);
    BOOST_TEST(reason_of(gcra(exact, 24h)) == inexact);
    BOOST_TEST(reason_of(gcra(exact, 1s)) == "not refused"); // in seconds: 2^53 - 1 ticks
    BOOST_TEST(bucket_of(gcra(exact, 1s)).unit == 1'000'000);
}

BOOST_AUTO_TEST_CASE(a_token_weighs_the_reduced_period_divided_by_the_count) {
    const auto a = bucket_of(gcra(30, 60s).burst(16));
    BOOST_TEST(a.num == 2'000'000);
    BOOST_TEST(a.den == 1);
    BOOST_TEST(a.debt_limit == 32'000'000);
    const auto b = bucket_of(gcra(104'729, 24h));
    BOOST_TEST(b.num == 86'400'000);
    BOOST_TEST(b.den == 104'729);
    const auto c = bucket_of(gcra(3, 1s));
    BOOST_TEST(c.num == 1'000'000);
    BOOST_TEST(c.den == 3);
}

BOOST_AUTO_TEST_CASE(charges_saturate_at_366_days_or_2_to_the_52_ticks_but_never_below_full) {
    BOOST_TEST(bucket_of(gcra(1, 1s)).debt_max == limits::max_repayment.count());
    BOOST_TEST(bucket_of(gcra(1'000'003, 1s)).debt_max == std::int64_t{1} << 52U);
    BOOST_TEST(bucket_of(gcra(1, limits::max_recovery)).debt_max == limits::max_recovery.count());
}

BOOST_AUTO_TEST_CASE(any_rule_is_refused_or_exact) {
    auto random = test::random_rules{4};
    auto made = 0;
    for (int i = 0; i < test::rounds(200'000); ++i) {
        auto r = random.next();
        if (i % 2 == 0) // numbers that people might write
            r = rule{r.kind(), r.count() % 1'000'000, r.period().count() % 86'400'000'000,
                     r.capacity() % 1'000'000};
        if (reason("p", r).starts_with("policy 'p', rule 1 '"))
            continue;
        ++made;
        const auto b = bucket_of(r);
        const auto period = r.period().count();
        BOOST_REQUIRE(b.unit == 1 || b.unit == 1'000 || b.unit == 1'000'000);
        BOOST_REQUIRE_EQUAL(period % b.unit, 0);
        BOOST_REQUIRE(wide{b.num} * b.unit * r.count() == wide{b.den} * period);
        BOOST_REQUIRE(b.num > 0 && b.den > 0 && b.capacity == r.capacity());
        BOOST_REQUIRE(wide{b.capacity} * b.num == b.debt_limit);
        BOOST_REQUIRE(b.debt_limit <= b.debt_max && b.debt_max <= exact);
        BOOST_REQUIRE((wide{b.debt_limit} + b.den - 1) / b.den * b.unit <=
                      limits::max_recovery.count());
        // In the next finer unit a token weighs up to a thousand times as much: too much.
        if (b.unit > 1)
            BOOST_REQUIRE(wide{b.debt_limit} * 1'000 > exact);
    }
    BOOST_TEST(made > test::rounds(20'000));
}

BOOST_AUTO_TEST_CASE(state_tags_stay_what_they_are_since_servers_hold_them) {
    BOOST_TEST(core::state_tag('b', "gcra") == 1'527'487'298U);
    BOOST_TEST(core::state_tag('b', "cell") == 1'650'658'261U);
    BOOST_TEST(core::state_tag('b', "token_bucket") == 2'644'363'477U);
    BOOST_TEST(core::state_tag('b', "leaky_bucket") == 1'441'918'568U);
    BOOST_TEST(core::state_tag('b', "minute") == 1'077'342'089U);
    BOOST_TEST(bucket_of(gcra(1, 1s).named("minute")).tag == 1'077'342'089U);
    BOOST_TEST(bucket_of(cell(9, 7, 1h).named("minute")).tag == 1'077'342'089U);
}

BOOST_AUTO_TEST_CASE(a_state_tag_is_never_0) {
    BOOST_TEST(core::state_tag('b', "0ccrhg") == 1U); // its FNV-1a is 0
}

BOOST_AUTO_TEST_CASE(names_that_happen_to_share_a_state_tag_are_refused_together) {
    const auto a = gcra(1, 1s).named("rule549599");
    const auto b = gcra(1, 1s).named("rule712382");
    BOOST_TEST_REQUIRE(core::state_tag('b', a.name()) == core::state_tag('b', b.name()));
    BOOST_TEST(reason("p", a, b) ==
               "policy 'p', rule 2 'rule712382': its state cannot be told from that of rule "
               "'rule549599', whose name happens to have the same 32-bit tag; choose another name");
}

BOOST_AUTO_TEST_CASE(names_that_happen_to_have_the_tag_of_a_lockout_are_refused) {
    BOOST_TEST_REQUIRE(core::state_tag('b', "clc8295") ==
                       core::state_tag('h', "")); // a duplicate's
    BOOST_TEST_REQUIRE(core::state_tag('b', "clc8296") == core::block_tag);
    for (const auto* name : {"clc8295", "clc8296"})
        BOOST_TEST(reason("p", gcra(1, 1s).named(name)) ==
                   "policy 'p', rule 1 '" + std::string{name} +
                       "': its name happens to have the 32-bit tag of a lockout; choose another "
                       "name");
}

BOOST_AUTO_TEST_CASE(an_enumeration_has_only_its_enumerators) {
    const auto p = policy{"p", gcra(1, 1s)};
    BOOST_TEST(test::refusal(errc::invalid_policy,
                             [&] { return p.with_failure_mode(static_cast<failure_mode>(4)); }) ==
               "policy 'p': on_failure: not an enumerator (got 4, expected local, allow, deny, "
               "error)");
    BOOST_TEST(test::refusal(errc::invalid_policy,
                             [&] { return p.with_storage(static_cast<storage>(2)); }) ==
               "policy 'p': stored: not an enumerator (got 2, expected per_key, shared_hash)");
    const auto decades = calendar(5, static_cast<calendar_unit>(4));
    BOOST_TEST(reason("p", gcra(1, 1s), decades.named("r")) ==
               "policy 'p', rule 2: calendar_unit: not an enumerator (got 4, expected day, week, "
               "month, year)");
    BOOST_TEST(test::refusal(errc::invalid_policy, [&] { return policy{decades}; }) ==
               "rule: calendar_unit: not an enumerator (got 4, expected day, week, month, year)");
    const auto unknown = rule{static_cast<algorithm>(10), 1, 1'000'000, 1};
    BOOST_TEST(
        reason("p", unknown)
            .starts_with(
                "policy 'p', rule 1: algorithm: not an enumerator (got 10, expected gcra, cell, "));
}

BOOST_AUTO_TEST_SUITE_END()

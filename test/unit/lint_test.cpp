// SPDX-License-Identifier: BSL-1.0
//
// Findings about the rules of one policy; and that a rule which is reported as unreachable never
// denies anything, under traffic that tries.

#include <support/unit_test.hpp>
#include <tool/lint/findings.hpp>
#include <tool/lint/rate_bounds.hpp>

#include <colimit/local_limiter.hpp>
#include <colimit/rule_text.hpp>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(lint)

namespace {

using namespace std::chrono_literals;

/// The names of the problems of a policy with these rules.
std::string problems(std::string_view rules) {
    std::string names;
    for (const auto& f :
         tool::lint::findings_of(R"({"policies": {"a": ")" + std::string{rules} + R"("}})"))
        names += (names.empty() ? "" : " ") + std::string{to_string(f.problem)};
    return names;
}

bool implied(std::string_view stricter, std::string_view r) {
    return tool::lint::is_implied_by(colimit::parse_rules(r).at(0),
                                     colimit::parse_rules(stricter).at(0));
}

/// Rules in which limits, periods and bursts are alike often enough to imply each other.
colimit::rule random_rule(std::mt19937& random, std::string_view name) {
    const auto count = std::int64_t{1} << (random() % 5);
    const auto period = std::chrono::seconds{std::int64_t{1} << (random() % 4)};
    switch (random() % 8) {
    case 0:
        return colimit::fixed_window(count, period).named(name);
    case 1:
        return colimit::fixed_window(count, period).from_first().named(name);
    case 2:
        return colimit::sliding_window(count, period).named(name);
    case 3:
        return colimit::sliding_log(count, period).named(name);
    case 4:
        return colimit::gcra(count, period).stepwise().named(name);
    case 5:
        return colimit::gcra(count, period).aligned().burst(4).named(name);
    default:
        return colimit::gcra(count, period).burst(std::int64_t{1} << (random() % 6)).named(name);
    }
}

/// Returns whether the second rule of a policy denies a call that the first one allows, under
/// bursts and pauses.
bool second_denies(const colimit::policy& both, std::mt19937& random) {
    colimit::local_limiter limiter;
    colimit::time_point now{1'700'000'000s};
    for (int i = 0; i < 300; ++i) {
        const auto d = limiter.allow("client", both, {.now = now});
        if (d.rules[0].retry_after == 0us && d.rules[1].retry_after != 0us)
            return true;
        if (random() % 4 == 0)
            now += std::chrono::milliseconds{random() % 3 == 0 ? 250 * (random() % 64)
                                                               : random() % 100};
    }
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(ordinary_policies_have_no_findings) {
    for (const std::string_view rules :
         {"100/s", "5/s burst 10", "100/s; 5000/h named hour",
          "10/s burst 20; 1000 per day calendar named day",
          "20/m sliding_log; 100/h sliding_log named hour", "3 per month", "5/m fixed_window",
          "3/s distinct; 3/m", "1 per day burst 1"})
        BOOST_TEST(problems(rules) == "", rules);
}

BOOST_AUTO_TEST_CASE(a_rule_that_another_one_covers_is_unreachable) {
    BOOST_TEST(problems("10/s; 600/m named minute") == "unreachable_rule");
    BOOST_TEST(problems("600/m named minute; 10/s") == "unreachable_rule");
    BOOST_TEST(problems("10/s; 10/s named again") == "unreachable_rule"); // one of them
    BOOST_TEST(implied("10/m sliding_log", "600/h sliding_log"));
    BOOST_TEST(!implied("10/m sliding_log", "599/h sliding_log"));
    BOOST_TEST(!implied("10/m fixed_window", "600/h sliding_log")); // 20 at the edge of a window
    BOOST_TEST(implied("10/m fixed_window", "610/h sliding_log"));
    BOOST_TEST(implied("10/s burst 10", "20/s burst 10"));
    BOOST_TEST(!implied("10/s burst 11", "20/s burst 10"));
    BOOST_TEST(!implied("10/s burst 10", "9/s burst 100"));
    BOOST_TEST(implied("1 per day burst 1", "32 per month"));
    BOOST_TEST(!implied("1 per day burst 1", "30 per month")); // it may have 31 days
    BOOST_TEST(!implied("1/s distinct", "100/s"));
    BOOST_TEST(!implied("1/s", "100/s distinct"));
}

BOOST_AUTO_TEST_CASE(a_rule_in_shadow_denies_nothing_first) {
    const auto shadow = colimit::gcra(1, 1s).shadow();
    const auto wide = colimit::gcra(100, 1s);
    BOOST_TEST(!tool::lint::is_implied_by(wide, shadow));
    BOOST_TEST(tool::lint::is_implied_by(shadow.burst(100).shadow(), colimit::gcra(1, 1s)));
}

BOOST_AUTO_TEST_CASE(the_initial_tokens_of_a_bucket_count) {
    const auto strict = colimit::gcra(10, 1s);
    BOOST_TEST(tool::lint::is_implied_by(colimit::gcra(10, 1s).burst(100), strict));
    BOOST_TEST(!tool::lint::is_implied_by(colimit::gcra(10, 1s).burst(100).initially(9), strict));
}

BOOST_AUTO_TEST_CASE(an_unreachable_rule_denies_nothing) {
    std::mt19937 random{1}; // NOLINT: the same rules each time
    int reported = 0;
    int denying = 0;
    for (int i = 0; i < 1500; ++i) {
        const auto first = random_rule(random, "first");
        const auto second = random_rule(random, "second");
        const auto denies = second_denies(colimit::policy{"both", first, second}, random);
        denying += denies ? 1 : 0;
        if (!tool::lint::is_implied_by(second, first))
            continue;
        ++reported;
        BOOST_TEST(!denies, to_string(second) << " is not covered by " << to_string(first));
    }
    BOOST_TEST(reported > 150);
    BOOST_TEST(denying > 500);
}

BOOST_AUTO_TEST_CASE(a_rate_that_no_traffic_has_is_a_warning) {
    BOOST_TEST(problems("9007199254740991/us") == "boundless_rule");
    BOOST_TEST(problems("1000001/us") == "boundless_rule");
    BOOST_TEST(problems("1000000/us") == "");
    BOOST_TEST(problems("1000001/us; 5/s named second") == "unreachable_rule boundless_rule");
}

BOOST_AUTO_TEST_CASE(an_offset_that_no_place_has_is_a_warning) {
    for (const auto* const offset : {"utc+15", "utc-13", "utc+14:15", "utc-12:30", "utc+18"})
        BOOST_TEST(problems("5 per day " + std::string{offset}) == "unknown_offset", offset);
    for (const auto* const offset : {"utc", "utc+14", "utc-12", "utc+05:45", "calendar"})
        BOOST_TEST(problems("5 per day " + std::string{offset}) == "", offset);
}

BOOST_AUTO_TEST_CASE(a_burst_of_a_day_is_a_warning_unless_another_rule_prevents_it) {
    BOOST_TEST(problems("1000/24h burst 1000") == "daily_quota_in_a_second");
    BOOST_TEST(problems("1000/24h burst 999") == "");
    BOOST_TEST(problems("1000/24h; 10/s named second") == "day_bucket");
    BOOST_TEST(problems("1000/24h; 500/s named second burst 500") == "daily_quota_in_a_second");
    BOOST_TEST(problems("1/24h burst 1") == "");
}

BOOST_AUTO_TEST_CASE(a_burst_that_takes_days_to_recover_is_a_warning) {
    BOOST_TEST(problems("10/h burst 480; 9/s named second") == "slow_recovery");
    BOOST_TEST(problems("10/h burst 479; 9/s named second") == "");
}

BOOST_AUTO_TEST_CASE(a_bucket_of_a_calendar_unit_names_the_calendar) {
    for (const std::string_view rules : {"1000/d; 10/s named second", "1000/7d; 10/m named minute",
                                         "99/30d; 3/d named day burst 2", "99/31d; 3/h named hour"})
        BOOST_TEST(problems(rules).find("day_bucket") != std::string::npos, rules);
    for (const std::string_view rules :
         {"1000 per day calendar", "1000/d fixed_window", "1000/d sliding_window", "1/d",
          "1000/d burst 5; 10/m named minute", "100/48h burst 3", "100/23h; 10/s named second"})
        BOOST_TEST(problems(rules).find("day_bucket") == std::string::npos, rules);
    for (const auto* const rules : {"100/d", "100/d; 10/s named second"}) {
        const auto found =
            tool::lint::findings_of(R"({"policies": {"a": ")" + std::string{rules} + R"("}})");
        BOOST_TEST_REQUIRE(found.size() == 1U);
        BOOST_TEST(found[0].message.ends_with(
            "; '100 per day calendar' is a quota that begins anew each day"));
    }
}

BOOST_AUTO_TEST_SUITE_END()

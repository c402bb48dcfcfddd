// SPDX-License-Identifier: BSL-1.0
//
// Policies as JSON: the meaning of each field, and round trips.

#include <colimit/error.hpp>
#include <colimit/json.hpp>
#include <colimit/limits.hpp>
#include <support/random_rule.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(json_policies)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

[[nodiscard]] policy read_one(const std::string& text) {
    const auto set = parse_policies(R"({"policies": {"p": )" + text + "}}");
    BOOST_TEST_REQUIRE(set.size() == 1U);
    return set.at("p");
}

void check_rule(const std::string& fields, const rule& expected) {
    BOOST_TEST_CONTEXT(fields) {
        const auto p = read_one("[{" + fields + "}]");
        BOOST_TEST_REQUIRE(p.size() == 1U);
        BOOST_TEST((p[0] == expected), to_string(p[0]) << " != " << to_string(expected));
    }
}

[[nodiscard]] policy random_policy(test::random_rules& random) {
    for (;;) {
        std::vector<rule> rules;
        for (auto n = 1 + random.below_or_at(7); n > 0; --n)
            rules.push_back(random.sensible().named(random.name()));
        const auto is_number = [](const rule& r) {
            return r.kind() != algorithm::sliding_log && r.kind() != algorithm::distinct;
        };
        auto p = policy{random.name(), rules}.shadow(random.below_or_at(1) == 0);
        if (random.below_or_at(1) == 0)
            p = p.with_prefix(random.name());
        if (random.below_or_at(1) == 0)
            p = p.with_failure_mode(static_cast<failure_mode>(random.below_or_at(3)));
        if (random.below_or_at(1) == 0)
            p = p.prevent_duplicate(std::chrono::microseconds{1 + random.below_or_at(10'000'000)});
        if (std::ranges::all_of(rules, is_number) && random.below_or_at(1) == 0)
            p = p.with_storage(storage::shared_hash);
        try {
            const auto length = std::chrono::microseconds{1'000 + random.below_or_at(100'000)};
            return random.below_or_at(1) == 0 ? p.with_leases(length) : p;
        } catch (const error&) { // not with these rules
            return p;
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_example_of_the_header_is_read) {
    const auto set = parse_policies(R"({"policies": {
        "api": "100/s; 5000/h named hour",
        "search": ["20/m sliding_log", "3 per month utc+8"],
        "login": {
          "rules": ["5/s burst 10",
                    {"algorithm": "sliding_log", "limit": 20, "period": "1m", "name": "minute"}],
          "prevent_duplicate": "5s"
        }
    }})");
    const policy_set expected{
        {policy{"api", gcra(100, 1s), gcra(5000, 1h).named("hour")},
         policy{"search", sliding_log(20, 1min), calendar(3, calendar_unit::month, 8h)},
         policy{"login", gcra(5, 1s).burst(10), sliding_log(20, 1min).named("minute")}
             .prevent_duplicate(5s)}};
    BOOST_TEST((set == expected), to_json(set));
}

BOOST_AUTO_TEST_CASE(rules_are_a_text_an_array_or_an_object_with_options) {
    const policy expected{"p", gcra(1, 1s), gcra(2, 1min).named("m")};
    BOOST_TEST((read_one(R"("1/s; 2/m named m")") == expected));
    BOOST_TEST((read_one(R"(["1/s", "2/m named m"])") == expected));
    BOOST_TEST((read_one(R"(["1/s; 2/m named m;"])") == expected));
    BOOST_TEST((read_one(R"({"rules": "1/s; 2/m named m"})") == expected));
    BOOST_TEST(
        (read_one(R"({"rules": ["1/s", {"limit": 2, "period": "1m", "name": "m"}]})") == expected));
    BOOST_TEST((read_one(
                    R"({"shadow": true, "prefix": "x", "on_failure": "deny",
                             "prevent_duplicate": "500 ms",
                             "rules": "1/s; 2/m named m"})") ==
                expected.shadow()
                    .with_prefix("x")
                    .with_failure_mode(failure_mode::deny)
                    .prevent_duplicate(500ms)));
    BOOST_TEST((read_one(R"({"rules": "1/s; 2/m named m", "storage": "shared_hash"})") ==
                expected.with_storage(storage::shared_hash)));
    BOOST_TEST((read_one(R"({"rules": "1/s; 2/m named m", "shadow": false, "storage": "per_key",
                             "prevent_duplicate": "0s"})") == expected));
    BOOST_TEST((read_one(R"({"rules": "20/s; 200/m named m", "leases": "100ms"})") ==
                policy{"p", gcra(20, 1s), gcra(200, 1min).named("m")}.with_leases(100ms)));
}

BOOST_AUTO_TEST_CASE(a_rule_has_fields_for_all_that_a_rule_is) {
    check_rule(R"("limit": 5, "period": "1s")", gcra(5, 1s));
    check_rule(R"("count": 5, "period": "s", "capacity": 7)", gcra(5, 1s).burst(7));
    check_rule(R"("algorithm": "cell", "limit": 30, "period": "60s", "burst": 16)",
               cell(15, 30, 60s));
    check_rule(R"("algorithm": "Token_Bucket", "limit": 5, "period": "2h", "burst": 9,
                  "refill": "stepwise", "initially": 0)",
               token_bucket(9, 5, 2h).stepwise().initially(0));
    check_rule(R"("algorithm": "leaky_bucket", "limit": 5, "period": "2h", "refill": "aligned")",
               leaky_bucket(5, 5, 2h).aligned());
    check_rule(R"("limit": 5, "period": "1d", "refill": "continuous", "shadow": true)",
               gcra(5, 24h).shadow());
    check_rule(R"("algorithm": "fixed_window", "limit": 5, "period": "1s", "from_first": true)",
               fixed_window(5, 1s).from_first());
    check_rule(R"("algorithm": "fixed_window", "limit": 5, "period": "1s", "from_first": false)",
               fixed_window(5, 1s));
    check_rule(R"("algorithm": "sliding_window", "limit": 5, "period": "250us")",
               sliding_window(5, 250us));
    check_rule(R"("algorithm": "sliding_log", "limit": 5, "period": "1s", "count_denied": true)",
               sliding_log(5, 1s).count_denied());
    check_rule(R"("algorithm": "distinct", "limit": 5, "period": "1s", "name": "n-1")",
               distinct(5, 1s).named("n-1"));
    check_rule(R"("algorithm": "calendar", "limit": 5, "unit": "month", "utc_offset": "+05:30")",
               calendar(5, calendar_unit::month, 5h + 30min));
    check_rule(R"("algorithm": "calendar", "limit": 5, "unit": "day", "utc_offset": "-3")",
               calendar(5, calendar_unit::day, -3h));
    check_rule(R"("algorithm": "calendar", "limit": 5, "unit": "week", "utc_offset": "UTC")",
               calendar(5, calendar_unit::week));
    check_rule(R"("algorithm": "calendar", "limit": 5, "unit": "year")",
               calendar(5, calendar_unit::year));
}

BOOST_AUTO_TEST_CASE(the_largest_exact_number_is_a_number) {
    check_rule(R"("limit": 9007199254740991, "period": "1s")", gcra(limits::max_exact_integer, 1s));
}

BOOST_AUTO_TEST_CASE(escapes_in_names_and_texts_are_those_of_json) {
    const auto set = parse_policies(R"({"pol\u0069cies": {"\u0061": "5\/s\tburst 1\u0030"}})");
    BOOST_TEST((set.at("a") == policy{"a", gcra(5, 1s).burst(10)}));
}

BOOST_AUTO_TEST_CASE(a_document_may_have_no_policies) {
    BOOST_TEST(parse_policies(R"({"policies":{}})").empty());
    BOOST_TEST(parse_policies(to_json(policy_set{})).empty());
}

BOOST_AUTO_TEST_CASE(what_is_written_has_one_line_a_policy) {
    const policy login{"login", gcra(5, 1s).burst(10), calendar(3, calendar_unit::month, 8h)};
    BOOST_TEST(to_json(login.prevent_duplicate(1s)
                           .shadow()
                           .with_prefix("x")
                           .with_failure_mode(failure_mode::local)
                           .with_storage(storage::shared_hash)) ==
               "{\"policies\": {\n"
               "  \"login\": {\"rules\": [\"5/s burst 10\", \"3 per month utc+8\"], "
               "\"prevent_duplicate\": \"1s\", \"shadow\": true, \"on_failure\": \"local\", "
               "\"storage\": \"shared_hash\", \"prefix\": \"x\"}\n"
               "}}\n");
}

BOOST_AUTO_TEST_CASE(the_length_of_leases_is_written) {
    BOOST_TEST(to_json(policy{"api", gcra(5, 1s).burst(10)}.with_leases(150ms)) ==
               "{\"policies\": {\n"
               "  \"api\": {\"rules\": [\"5/s burst 10\"], \"leases\": \"150ms\"}\n"
               "}}\n");
}

BOOST_AUTO_TEST_CASE(what_is_written_of_any_policies_is_read_as_the_same) {
    auto random = test::random_rules{6};
    for (int i = 0; i < 300; ++i) {
        std::vector<policy> policies;
        for (auto n = random.below_or_at(5); n > 0; --n)
            policies.push_back(random_policy(random));
        const policy_set set{policies};
        const auto text = to_json(set);
        BOOST_REQUIRE_MESSAGE(parse_policies(text) == set, text);
        BOOST_REQUIRE(to_json(parse_policies(text)) == text);
    }
    const auto p = random_policy(random);
    BOOST_TEST((parse_policies(to_json(p)) == policy_set{std::vector{p}}));
}

BOOST_AUTO_TEST_CASE(the_largest_set_is_read_back) {
    std::vector<policy> policies;
    for (std::size_t i = 0; i < limits::max_policies; ++i) {
        std::vector<rule> rules;
        for (char c = 'a'; c <= 'h'; ++c)
            rules.push_back(token_bucket(99'999, 99'998, 86'399s)
                                .stepwise()
                                .initially(99'997)
                                .shadow()
                                .named(std::string(63, 'n') + c));
        const auto number = std::to_string(10'000 + i);
        policies.push_back(
            policy{std::string(59, 'p') + number, rules}.with_prefix(std::string(64, 'x')));
    }
    const policy_set set{policies};
    const auto text = to_json(set);
    BOOST_TEST(text.size() > 1'000'000U);
    BOOST_TEST((parse_policies(text) == set));
}

BOOST_AUTO_TEST_SUITE_END()

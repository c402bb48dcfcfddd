// SPDX-License-Identifier: BSL-1.0
//
// Policies as JSON: errors, their positions and messages.

#include <colimit/json.hpp>
#include <colimit/limits.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(json_refusals)

namespace {

using namespace colimit;

[[nodiscard]] std::string reason(std::string_view text) {
    return test::refusal(errc::invalid_policy, [&] { return parse_policies(text); });
}

void check(std::string_view text, std::string_view expected) {
    BOOST_TEST_CONTEXT(text) {
        BOOST_TEST(reason(text) == expected);
    }
}

void check_policy(const std::string& text, const std::string& expected) {
    check(R"({"policies": {"login": )" + text + "}}", "policies.login" + expected);
}

void check_rule(const std::string& fields, const std::string& expected) {
    check_policy(R"(["1/s named x", {)" + fields + "}]", "[1]" + expected);
}

/// A limit of 1 to 2^53 - 1, and nothing else.
void check_limit(const std::string& limit, const std::string& expected, const std::string& got) {
    check_rule(R"("limit": )" + limit + R"(, "period": "1s")",
               ".limit: invalid value (got " + got + ", expected " + expected + ")");
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused_with_line_and_column) {
    check("", "JSON, line 1, column 1: the document ends too early");
    check("{\"policies\": {\n  \"a\": \"1/s\",\n}}", "JSON, line 3, column 1: syntax error");
    check("{\"policies\": {}} x", "JSON, line 1, column 18: something follows the end of the "
                                  "document");
    for (const std::string mark : {"\xff\xfe", "\xfe\xff"})
        check(mark + "{}", "JSON: the document is UTF-16 (expected UTF-8)");
    check("\xef\xbb\xbf{\"policies\": {}}",
          "JSON: the document begins with a byte order mark (expected UTF-8 without one: save it "
          "without, or remove its first three bytes)");
    check("{\"policies\": {", "JSON, line 1, column 15: the document ends too early");
    check("{'policies': {}}", "JSON, line 1, column 2: syntax error");
    check("{\"policies\": {}} // none", "JSON, line 1, column 18: something follows the end of "
                                        "the document");
    for (const auto* const wrong : {"NaN", "Infinity", "-", "01", "+1", ".5", "1.", "0x10", "1e",
                                    "\"\xff\"", "\"\n\"", "\"\\ud800\"", "tru"}) {
        const auto said = reason(R"({"policies": {"a": [{"limit": )" + std::string{wrong} + "}]}}");
        BOOST_TEST(said.starts_with("JSON, line 1, column 3"), wrong << ": " << said);
    }
}

BOOST_AUTO_TEST_CASE(a_document_above_its_limits_is_refused) {
    check(std::string(limits::max_json_bytes + 1, ' '),
          "JSON: document too long (got 4194305 bytes, expected at most 4194304)");
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    check(nested(8), "the document: invalid value (got an array, expected an object)");
    check(nested(9), "JSON, line 1, column 9: nested deeper than 8 levels");
    check(nested(2'000'000), "JSON, line 1, column 9: nested deeper than 8 levels");
    const auto array_of = [](const std::string& element, std::size_t size) {
        std::string many = "[" + element;
        for (std::size_t i = 1; i < size; ++i)
            many += "," + element;
        return many + "]";
    };
    check(array_of("1", 1'024), "the document: invalid value (got an array, expected an object)");
    check(array_of("1", 1'025), "JSON: an array or object has more than 1024 values");
    check(array_of(array_of("1", 128), 993), "JSON: the document has more than 128000 values");
    std::string policies;
    for (int i = 0; i < 1'001; ++i)
        policies += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"1/s")";
    check(R"({"policies":{)" + policies + "}}",
          "policies: too many (got 1001, expected at most 1000)");
}

BOOST_AUTO_TEST_CASE(the_document_is_an_object_with_policies) {
    check("{}", "the document: policies is missing");
    check("5", "the document: invalid value (got 5, expected an object)");
    check(R"({"policies": []})", "policies: invalid value (got an array, expected an object)");
    check(R"({"policies": null})", "policies: invalid value (got null, expected an object)");
    check(R"({"policy": {}})", "policy: unknown field (expected one of policies)");
    check(R"({"policies": {}, "a\nb": 1})",
          "['a\\x0ab']: unknown field (expected one of policies)");
}

BOOST_AUTO_TEST_CASE(a_policy_has_rules_and_options) {
    const std::string known =
        "unknown field (expected one of rules, prevent_duplicate, shadow, on_failure, storage, "
        "prefix, leases)";
    check_policy("5", ": invalid value (got 5, expected a text, an array of rules or an object)");
    check_policy("null",
                 ": invalid value (got null, expected a text, an array of rules or an object)");
    check_policy("{}", ": rules is missing");
    check_policy("[]", ": no rules (expected 1 to 8)");
    check_policy(R"({"rules": []})", ".rules: no rules (expected 1 to 8)");
    check_policy(R"({"rules": {}})",
                 ".rules: invalid value (got an object, expected a text or an array of rules)");
    check_policy(R"({"rules": [5]})",
                 ".rules[0]: invalid value (got 5, expected a rule, a text or an object)");
    check_policy(R"({"rules": "1/s", "shadows": true})", ".shadows: " + known);
    check_policy(R"({"rules": "1/s", "shadow": 1})",
                 ".shadow: invalid value (got 1, expected true or false)");
    check_policy(
        R"({"rules": "1/s", "on_failure": "open"})",
        ".on_failure: invalid value (got the text 'open', expected local, allow, deny or error)");
    check_policy(R"({"rules": "1/s", "storage": "dense"})",
                 ".storage: invalid value (got the text 'dense', expected per_key or shared_hash)");
    check_policy(R"({"rules": "1/s sliding_log", "storage": "shared_hash"})",
                 ".storage: policy 'login', rule 1 'sliding_log': a sliding_log cannot be packed");
    check_policy(R"({"rules": "20/s", "leases": "101ms"})",
                 ".leases: policy 'login', rule 1 'gcra': leases: longer than a tenth of the time "
                 "in which it fills (got 101000 us, expected at most 100000 us)");
    check_policy(R"({"rules": "1/s", "on_failure": true})",
                 ".on_failure: invalid value (got true, expected local, allow, deny or error)");
    check_policy(R"({"rules": "1/s", "shadow": "true"})",
                 ".shadow: invalid value (got the text 'true', expected true or false)");
    check_policy(R"({"rules": "1/s", "prefix": "a:b"})",
                 ".prefix: character 2 is not one of [A-Za-z0-9_.-]");
    check_policy(R"({"rules": "1/s", "prefix": ""})",
                 ".prefix is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed");
    check_policy(R"({"rules": "1/s", "prefix": false})",
                 ".prefix: invalid value (got false, expected a name)");
}

BOOST_AUTO_TEST_CASE(names_are_checked_and_shown_escaped) {
    check(R"({"policies": {"a b": "1/s"}})",
          "policies['a b']: character 2 is not one of [A-Za-z0-9_.-]");
    check(R"({"policies": {"\u0000\u00fc": "1/s"}})",
          "policies['\\x00\\xc3\\xbc']: character 1 is not one of [A-Za-z0-9_.-]");
    check(R"({"policies": {"": "1/s"}})",
          "policies[''] is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed");
    check(R"({"policies": {")" + std::string(65, 'x') + R"(": "1/s"}})",
          "policies['xxxxxxxxxxxxxxxxxxxxxxxx...'] is longer than 64 characters");
    check_rule(R"("limit": 1, "period": "1s", "name": "a b")",
               ".name: character 2 is not one of [A-Za-z0-9_.-]");
}

BOOST_AUTO_TEST_CASE(nothing_is_given_twice) {
    check(R"({"policies": {}, "policies": {}})", "policies: is given twice");
    check(R"({"policies": {"a": "1/s", "b": "1/s", "a": "2/s"}})", "policies.a: is given twice");
    check(R"({"policies": {"a": "1/s", "\u0061": "1/s"}})", "policies.a: is given twice");
    check_policy(R"({"rules": "1/s", "rules": "1/s"})", ".rules: is given twice");
    check_rule(R"("limit": 1, "period": "1s", "limit": 1)", ".limit: is given twice");
    check_rule(R"("limit": 1, "period": "1s", "count": 1)",
               ".count: is the same as limit; give one of them");
    check_rule(R"("limit": 1, "period": "1s", "capacity": 1, "burst": 1)",
               ".capacity: is the same as burst; give one of them");
    check_policy(R"(["1/s", "2/s"])", ": policy 'login', rule 2 'gcra': another rule of this "
                                      "policy has this name; name them apart with .named(...)");
}

BOOST_AUTO_TEST_CASE(a_text_is_refused_with_path_and_character) {
    check_policy(R"("5/x")", ": rule text, character 3: expected a unit of time (us, ms, s, m, h, "
                             "d, week, month, year), found 'x'");
    check_policy(R"({"rules": ["1/s", "5/s burst"]})",
                 ".rules[1]: rule text, character 10: expected a capacity, a whole number, found "
                 "the end");
    check_policy(R"(["1/s;1/s;1/s;1/s", "1/s;1/s;1/s;1/s", "1/s"])",
                 "[2]: too many rules (at most 8)");
    check_policy(R"("0/s")", ": policy 'login', rule 1 'gcra': the count must be 1 to "
                             "9007199254740991 (got 0)");
}

BOOST_AUTO_TEST_CASE(numbers_are_whole_and_in_their_range_or_refused_as_they_are_written) {
    check(R"({"policies": {"login": {"rules": ["1/m", {"limit": 0, "period": "1s"}]}}})",
          "policies.login.rules[1].limit: invalid value (got 0, expected at least 1)");
    const std::string most = "at most 9007199254740991";
    check_limit("0", "at least 1", "0");
    check_limit("-0", "at least 1", "-0");
    check_limit("-1", "at least 1", "-1");
    check_limit("9007199254740992", most, "9007199254740992");
    check_limit("9223372036854775807", most, "9223372036854775807");
    check_limit("9223372036854775808", most, "9223372036854775808");
    check_limit("18446744073709551615", most, "18446744073709551615");
    check_limit("18446744073709551616", most, "18446744073709551616");
    check_limit("18446744073709551617", most, "18446744073709551617");
    check_limit("-9223372036854775808", "at least 1", "-9223372036854775808");
    check_limit("-9223372036854775809", "at least 1", "-9223372036854775809");
    check_limit("1" + std::string(500, '0'), most, "1" + std::string(39, '0') + "...");
    const std::string whole = "a whole number without fraction and exponent";
    for (const std::string number : {"1.5", "1.0", "1e3", "1E+3", "1e-3", "-1.5", "1e300"})
        check_limit(number, whole, number);
    check_limit("null", "a whole number", "null");
    check_limit("true", "a whole number", "true");
    check_limit(R"("5")", "a whole number", "the text '5'");
    check_limit("[5]", "a whole number", "an array");
    check_limit("{}", "a whole number", "an object");
    check_rule(R"("limit": 1, "period": "1s", "burst": 0)",
               ".burst: invalid value (got 0, expected at least 1)");
    check_rule(R"("limit": 1, "period": "1s", "initially": -1)",
               ".initially: invalid value (got -1, expected at least 0)");
    check_rule(R"("limit": 1, "period": "1s", "burst": 9, "initially": 10)",
               ".initially: invalid value (got 10, expected at most 9)");
}

BOOST_AUTO_TEST_CASE(durations_have_a_unit) {
    const std::string units = "expected a unit of time (us, ms, s, m, h, d), found ";
    check_rule(R"("limit": 1, "period": 60)",
               ".period: invalid value (got 60, expected a text with a unit, such as \"5s\")");
    check_rule(R"("limit": 1, "period": null)",
               ".period: invalid value (got null, expected a duration such as \"5s\")");
    check_rule(R"("limit": 1, "period": "60")",
               ".period: duration, character 3: " + units + "the end");
    check_rule(R"("limit": 1, "period": "")",
               ".period: duration, character 1: " + units + "the end");
    check_rule(R"("limit": 1, "period": "1.5s")",
               ".period: duration, character 2: " + units + "'.5s'");
    check_rule(R"("limit": 1, "period": "-1s")",
               ".period: duration, character 1: " + units + "'-1s'");
    check_rule(R"("limit": 1, "period": "1 month")",
               ".period: duration, character 3: " + units + "'month'");
    check_rule(R"("limit": 1, "period": "1m 30s")",
               ".period: duration, character 3: expected the end, found ' '");
    check_rule(R"("limit": 1, "period": "9223372036854775808us")",
               ".period: duration, character 1: the number is larger than 9223372036854775807");
    check_rule(R"("limit": 1, "period": "106751992d")",
               ".period: duration, character 1: the period does not fit in 64 bits of "
               "microseconds");
    check_rule(R"("limit": 1, "period": "0s")",
               ": rule 'gcra': the period must be 1 us to 100 years (got 0 us)");
    check_policy(
        R"({"rules": "1/s", "prevent_duplicate": 5})",
        ".prevent_duplicate: invalid value (got 5, expected a text with a unit, such as \"5s\")");
    check_policy(R"({"rules": "1/s", "prevent_duplicate": "367d"})",
                 ".prevent_duplicate: policy 'login': prevent_duplicate must be a whole number of "
                 "microseconds, 1 us to 366 days (got 31708800000000 us)");
}

BOOST_AUTO_TEST_CASE(each_algorithm_has_its_fields) {
    const std::string words = ", expected one of gcra, cell, token_bucket, leaky_bucket, "
                              "fixed_window, calendar, sliding_window, sliding_log, distinct, "
                              "concurrent)";
    check_rule(R"("algorithm": "gcr", "limit": 1, "period": "1s")",
               ".algorithm: invalid value (got the text 'gcr'" + words);
    check_rule(R"("algorithm": 5)", ".algorithm: invalid value (got 5" + words);
    check_rule(R"("period": "1s")", ": limit is missing");
    check_rule(R"("limit": 1)", ": period is missing");
    check_rule(R"("limit": 1, "period": "1s", "Limit": 1)",
               ".Limit: unknown field (expected one of algorithm, limit, count, period, unit, "
               "utc_offset, burst, capacity, refill, initially, from_first, count_denied, shadow, "
               "name)");
    const std::string log = R"("algorithm": "sliding_log", "limit": 1, "period": "1s", )";
    for (const std::string field : {"burst", "capacity", "refill", "initially", "count"})
        check_rule(log + '"' + field + "\": 1",
                   "." + field + ": is for buckets, not for sliding_log");
    check_rule(log + R"("unit": "day")", ".unit: is for calendar, not for sliding_log");
    check_rule(log + R"("from_first": true)",
               ".from_first: is for fixed_window, not for sliding_log");
    check_rule(R"("limit": 1, "period": "1s", "count_denied": true)",
               ".count_denied: is for sliding_log, not for gcra");
    check_rule(R"("limit": 1, "period": "1s", "refill": "slow")",
               ".refill: invalid value (got the text 'slow', expected one of continuous, stepwise, "
               "aligned)");
    check_rule(R"("algorithm": "sliding_log", "limit": 100001, "period": "1s")",
               ": rule 'sliding_log': the limit of a sliding log, which remembers every charge, "
               "must be at most 100000 (got 100001)");
}

BOOST_AUTO_TEST_CASE(a_calendar_has_a_unit_and_an_offset) {
    const std::string calendar = R"("algorithm": "calendar", "limit": 1)";
    check_rule(calendar, ": unit is missing");
    check_rule(calendar + R"(, "period": "1d")",
               ".period: is for rules with a period, not for calendar");
    check_rule(
        calendar + R"(, "unit": "hour")",
        ".unit: invalid value (got the text 'hour', expected one of day, week, month, year)");
    const std::string month = calendar + R"(, "unit": "month", "utc_offset": )";
    check_rule(month + "8",
               ".utc_offset: invalid value (got 8, expected an offset such as \"+05:30\")");
    for (const std::string wrong : {"8", "", "Z", "est", "utc8"})
        check_rule(month + '"' + wrong + '"',
                   ".utc_offset: offset, character 1: expected an offset such as +05:30, -3 or "
                   "utc, found " +
                       (wrong.empty() ? "the end" : "'" + wrong + "'"));
    for (const std::string wrong : {"+5:60", "+", "+123", "-5:3", "+8x"})
        check_rule(month + '"' + wrong + '"',
                   ".utc_offset: offset, character 1: expected an offset such as utc, utc+8 or "
                   "utc-05:30, found '" +
                       wrong + "'");
    check_rule(month + R"("+8 ")", ".utc_offset: offset, character 3: expected the end, found ' '");
    check_rule(month + R"("+18:01")", ": rule 'calendar': the offset from UTC must be -1080 to "
                                      "1080 minutes (got 1081)");
}

BOOST_AUTO_TEST_SUITE_END()

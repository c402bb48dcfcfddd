// SPDX-License-Identifier: BSL-1.0
//
// Rules as text: valid ones, errors and their messages.

#include <colimit/rule_text.hpp>
#include <support/random_rule.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(rule_text)

namespace {

using namespace std::chrono_literals;
using colimit::parse_rules;
using colimit::rule;

using unit = colimit::calendar_unit;

constexpr auto day = 24h;

[[nodiscard]] std::string reason(std::string_view text) {
    return colimit::test::refusal(colimit::errc::invalid_policy, [&] { return parse_rules(text); });
}

void check_rule(std::string_view text, const rule& expected) {
    BOOST_TEST_CONTEXT(text) {
        const auto rules = parse_rules(text);
        BOOST_TEST_REQUIRE(rules.size() == 1U);
        BOOST_TEST((rules[0] == expected), to_string(rules[0]) << " != " << to_string(expected));
    }
}

void check_reason(std::string_view text, std::string_view expected) {
    BOOST_TEST_CONTEXT(text) {
        BOOST_TEST(reason(text) == expected);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_count_and_a_period_are_a_gcra_rule) {
    check_rule("100/s", colimit::gcra(100, 1s));
    check_rule("5/m burst 10", colimit::gcra(5, 1min).burst(10));
    check_rule("20 per 1m", colimit::gcra(20, 1min));
    check_rule("20 per 90 seconds", colimit::gcra(20, 90s));
    check_rule("0/0s", colimit::gcra(0, 0s)); // whether it makes a rule is the policy's question
}

BOOST_AUTO_TEST_CASE(the_count_of_a_continuous_bucket_may_have_a_fraction) {
    check_rule("0.5/s", colimit::gcra(1, 2s));
    check_rule("0.5/s leaky_bucket burst 10", colimit::leaky_bucket(10, 1, 2s));
    check_rule("1.5 per 10m token_bucket", colimit::token_bucket(2, 3, 20min));
    check_rule("0.333/s", colimit::gcra(333, 1000s).burst(1));
    check_rule("12.0/s", colimit::gcra(12, 1s));
    check_rule("0.50/us initially 0", colimit::gcra(1, 2us).initially(0));
    check_rule("0.0/s", colimit::gcra(0, 1s));
    const std::string most = "922337203685477579.9"; // as many digits as 64 bits take
    check_rule(most + "/s",
               colimit::gcra(9'223'372'036'854'775'799, 10s).burst(922'337'203'685'477'580));
}

BOOST_AUTO_TEST_CASE(a_fraction_that_is_not_exact_is_refused) {
    const std::string where = "rule text, character 1: ";
    for (const std::string kind : {"fixed_window", "sliding_window", "sliding_log", "distinct"})
        check_reason("0.5/s " + kind,
                     where + "a fraction is for buckets that are refilled continuously; " + kind +
                         " needs a whole number");
    check_reason("0.5 per month", where + "a fraction is for buckets that are refilled "
                                          "continuously; calendar needs a whole number");
    check_reason("0.5/s stepwise", where + "a fraction is for buckets that are refilled "
                                           "continuously; gcra needs a whole number with stepwise "
                                           "or aligned");
    check_reason("0.0000000001/s", where + "the fraction cannot be counted exactly: 1 per "
                                           "10000000000 periods take longer than 100 years");
    check_reason("9223372036854775807.1/s",
                 where + "the count has too many digits to be counted exactly");
    check_reason("0.0000000000000000001/us",
                 where + "the count has too many digits to be counted exactly");
    check_reason("0./s", where + "expected a count, a number such as 20 or 0.5, found '0.'");
    check_reason(".5/s", where + "expected a count, a number such as 20 or 0.5, found '.5'");
    check_reason("0.5.5/s", where + "expected a count, a number such as 20 or 0.5, found '0.5.5'");
    check_reason("5/s burst 1.5",
                 "rule text, character 11: expected a capacity, a whole number, found '1.5'");
    check_reason("5/0.5s", "rule text, character 4: expected a unit of time (us, ms, s, m, h, d, "
                           "week, month, year), found '.5s'");
}

BOOST_AUTO_TEST_CASE(every_unit_has_its_names_and_plurals) {
    const std::array<std::pair<std::string_view, std::chrono::microseconds>, 30> units{
        {{"us", 1us},
         {"usec", 1us},
         {"usecs", 1us},
         {"microsecond", 1us},
         {"ms", 1ms},
         {"msec", 1ms},
         {"msecs", 1ms},
         {"millisecond", 1ms},
         {"s", 1s},
         {"sec", 1s},
         {"secs", 1s},
         {"second", 1s},
         {"seconds", 1s},
         {"m", 1min},
         {"min", 1min},
         {"mins", 1min},
         {"minute", 1min},
         {"minutes", 1min},
         {"h", 1h},
         {"hr", 1h},
         {"hrs", 1h},
         {"hour", 1h},
         {"hours", 1h},
         {"d", day},
         {"day", day},
         {"days", day},
         {"S", 1s},
         {"MS", 1ms},
         {"Microseconds", 1us},
         {"MILLISECONDS", 1ms}}};
    for (const auto& [name, period] : units)
        check_rule("7/3" + std::string{name}, colimit::gcra(7, 3 * period));
}

BOOST_AUTO_TEST_CASE(every_algorithm_is_found_by_its_name) {
    check_rule("5/s gcra", colimit::gcra(5, 1s));
    check_rule("5/s token_bucket burst 9", colimit::token_bucket(9, 5, 1s));
    check_rule("5/s leaky_bucket burst 9", colimit::leaky_bucket(9, 5, 1s));
    check_rule("30/60s cell burst 16", colimit::cell(15, 30, 60s));
    check_rule("20 per 1m fixed_window", colimit::fixed_window(20, 1min));
    check_rule("20 per 1m sliding_window", colimit::sliding_window(20, 1min));
    check_rule("20 per 1m sliding_log", colimit::sliding_log(20, 1min));
    check_rule("20 per 1m distinct", colimit::distinct(20, 1min));
    check_rule("20 per day calendar", colimit::calendar(20, unit::day));
}

BOOST_AUTO_TEST_CASE(words_may_stand_in_any_order_and_case_but_names_keep_theirs) {
    const auto expected = colimit::token_bucket(3, 7, 10s).named("A.b-c_D").shadow();
    check_rule("7 PER 10 Seconds Token_Bucket shadow BURST 3 named A.b-c_D", expected);
    check_rule("7/10s NAMED A.b-c_D burst 3 Shadow token_bucket", expected);
    BOOST_TEST(parse_rules("1/s named Day")[0].name() == "Day");
    BOOST_TEST(!(parse_rules("1/s named Day") == parse_rules("1/s named day")));
}

BOOST_AUTO_TEST_CASE(every_refinement_has_its_word) {
    const auto bucket = colimit::token_bucket(9, 5, 1s);
    check_rule("5/s token_bucket burst 9 stepwise", bucket.stepwise());
    check_rule("5/s aligned token_bucket burst 9", bucket.aligned());
    check_rule("5/s token_bucket initially 0 burst 9", bucket.initially(0));
    check_rule("5/s fixed_window from_first", colimit::fixed_window(5, 1s).from_first());
    check_rule("5/s Count_Denied sliding_log", colimit::sliding_log(5, 1s).count_denied());
    // Returns whether the algorithm has it is the policy's question.
    check_rule("5/s sliding_log from_first", colimit::sliding_log(5, 1s).from_first());
    check_reason("5/s initially", "rule text, character 14: expected a number of tokens, a whole "
                                  "number, found the end");
    check_reason("5/s initially -1", "rule text, character 15: expected a number of tokens, a "
                                     "whole number, found '-1'");
}

BOOST_AUTO_TEST_CASE(weeks_months_and_years_are_calendar_rules_and_days_if_they_say_so) {
    check_rule("3 per month", colimit::calendar(3, unit::month));
    check_rule("3/1 Months", colimit::calendar(3, unit::month));
    check_rule("3 per week calendar", colimit::calendar(3, unit::week));
    check_rule("3/year shadow", colimit::calendar(3, unit::year).shadow());
    check_rule("5/day", colimit::gcra(5, day));
    check_rule("5 per day calendar", colimit::calendar(5, unit::day));
    check_rule("5/d utc", colimit::calendar(5, unit::day));
    check_rule("5/24h calendar", colimit::calendar(5, unit::day));
}

BOOST_AUTO_TEST_CASE(a_calendar_has_an_offset_from_utc) {
    check_rule("3 per month utc+8", colimit::calendar(3, unit::month, 8h));
    check_rule("3 per month UTC-3", colimit::calendar(3, unit::month, -3h));
    check_rule("3 per month utc+5:30", colimit::calendar(3, unit::month, 5h + 30min));
    check_rule("3 per month utc+05:30", colimit::calendar(3, unit::month, 5h + 30min));
    check_rule("3 per day utc-0:30 named x", colimit::calendar(3, unit::day, -30min).named("x"));
    check_rule("3 per month utc+00:00", colimit::calendar(3, unit::month));
    for (const std::string wrong : {"utc+", "utc+a", "utc+123", "utc+5:", "utc+5:3", "utc+5:60",
                                    "utc+5:300", "utc+5.5", "utc+-5", "utc:30", "utc+5:-1"})
        check_reason("3 per month " + wrong, "rule text, character 13: expected an offset such as "
                                             "utc, utc+8 or utc-05:30, found '" +
                                                 wrong + "'");
}

BOOST_AUTO_TEST_CASE(algorithm_period_and_offset_must_agree) {
    check_reason("3 per 2 months", "rule text, character 7: a calendar rule counts in single "
                                   "weeks, months or years, not in 2 of them");
    check_reason("3 per 0 weeks", "rule text, character 7: a calendar rule counts in single "
                                  "weeks, months or years, not in 0 of them");
    const std::string single = "a calendar rule is per day, week, month or year";
    check_reason("3 per 2 days calendar", "rule text, character 7: " + single);
    check_reason("3/s utc+8", "rule text, character 3: " + single);
    check_reason("3 per week sliding_log", "rule text, character 7: a week is for calendar rules; "
                                           "sliding_log needs a period such as 7d");
    check_reason("3 per day gcra utc+8",
                 "rule text, character 16: utc is for calendar rules, not for gcra");
}

BOOST_AUTO_TEST_CASE(a_text_says_no_more_than_needed) {
    BOOST_TEST(to_string(colimit::gcra(5, 1s)) == "5/s");
    BOOST_TEST(to_string(colimit::gcra(5, 10s).burst(7)) == "5/10s burst 7");
    BOOST_TEST(to_string(colimit::sliding_log(20, 1min)) == "20/m sliding_log");
    BOOST_TEST(to_string(colimit::calendar(3, unit::month)) == "3 per month");
    BOOST_TEST(to_string(colimit::calendar(5, unit::day)) == "5 per day calendar");
    BOOST_TEST(to_string(colimit::calendar(5, unit::day, 8h)) == "5 per day utc+8");
    BOOST_TEST(to_string(colimit::calendar(5, unit::week, -5h - 5min)) == "5 per week utc-5:05");
    BOOST_TEST(to_string(colimit::calendar(5, unit::year, -30min)) == "5 per year utc-0:30");
    BOOST_TEST(to_string(colimit::token_bucket(9, 5, 1s).stepwise().initially(0).named("x")) ==
               "5/s token_bucket burst 9 stepwise initially 0 named x");
}

BOOST_AUTO_TEST_CASE(eight_rules_with_everything_that_can_be_said_are_read) {
    const auto most = std::numeric_limits<std::int64_t>::max();
    const auto longest = rule{colimit::algorithm::sliding_window, most, most, most - 1}
                             .initially(most)
                             .stepwise()
                             .from_first()
                             .count_denied()
                             .shadow()
                             .named(std::string(64, 'x'));
    std::string text;
    for (int i = 0; i < 8; ++i)
        text += (text.empty() ? "" : "; ") + to_string(longest);
    BOOST_TEST(text.size() == 1'798U);
    BOOST_TEST((parse_rules(text) == std::vector<rule>(8, longest)));
}

BOOST_AUTO_TEST_CASE(a_name_may_look_like_any_word) {
    check_rule("1/s named shadow", colimit::gcra(1, 1s).named("shadow"));
    check_rule("1/s named burst shadow", colimit::gcra(1, 1s).named("burst").shadow());
    check_rule("1/s named 5", colimit::gcra(1, 1s).named("5"));
}

BOOST_AUTO_TEST_CASE(blanks_are_free_between_words) {
    check_rule(" \t5 /\r\n250 ms ", colimit::gcra(5, 250ms));
    check_rule("5/ s", colimit::gcra(5, 1s));
}

BOOST_AUTO_TEST_CASE(semicolons_join_rules_and_one_more_at_the_end_does_no_harm) {
    const auto rules = parse_rules("20 per 1m; 200 per 24h named day;5/s ; ");
    BOOST_TEST_REQUIRE(rules.size() == 3U);
    BOOST_TEST((rules[1] == colimit::gcra(200, day).named("day")));
    BOOST_TEST((rules[2] == colimit::gcra(5, 1s)));
    BOOST_TEST(parse_rules("1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s;").size() == 8U);
    check_reason("1/s;;1/s",
                 "rule text, character 5: expected a count, a number such as 20 or 0.5, found ';'");
    check_reason("1/s;;",
                 "rule text, character 5: expected a count, a number such as 20 or 0.5, found ';'");
    check_reason("1/s;1/s;1/s;1/s;1/s;1/s;1/s;1/s; 2/s",
                 "rule text, character 34: too many rules (at most 8)");
}

BOOST_AUTO_TEST_CASE(a_text_without_a_rule_is_refused) {
    check_reason(
        "", "rule text, character 1: expected a count, a number such as 20 or 0.5, found the end");
    check_reason(
        "  ",
        "rule text, character 3: expected a count, a number such as 20 or 0.5, found the end");
    check_reason(";",
                 "rule text, character 1: expected a count, a number such as 20 or 0.5, found ';'");
}

BOOST_AUTO_TEST_CASE(a_refusal_says_what_stands_where_and_what_may) {
    check_reason("100/x", "rule text, character 5: expected a unit of time "
                          "(us, ms, s, m, h, d, week, month, year), found 'x'");
    check_reason("100/", "rule text, character 5: expected a unit of time "
                         "(us, ms, s, m, h, d, week, month, year), found the end");
    check_reason("100/ss", "rule text, character 5: expected a unit of time "
                           "(us, ms, s, m, h, d, week, month, year), found 'ss'");
    check_reason("100 a s", "rule text, character 5: expected '/' or 'per', found 'a'");
    check_reason("100", "rule text, character 4: expected '/' or 'per', found the end");
    check_reason("5/s burst", "rule text, character 10: expected a capacity, a whole number, "
                              "found the end");
    check_reason("5/s burst -1",
                 "rule text, character 11: expected a capacity, a whole number, found '-1'");
    const std::string words =
        "expected an algorithm (gcra, cell, token_bucket, leaky_bucket, fixed_window, calendar, "
        "sliding_window, sliding_log, distinct, concurrent), utc, burst, stepwise, aligned, "
        "initially, "
        "from_first, count_denied, shadow, named or ';', found ";
    check_reason("5/s bursts 1", "rule text, character 5: " + words + "'bursts'");
    check_reason("5/s, 6/m", "rule text, character 4: " + words + "','");
    check_reason("5/s utc8", "rule text, character 5: " + words + "'utc8'");
}

BOOST_AUTO_TEST_CASE(numbers_have_no_sign_or_tail) {
    for (const auto* const text : {"-5/s", "+5/s", ".5/s", "1.5e3/s", "1e3/s", "0x10/s", "1'000/s",
                                   "5s/s", "NaN/s", "inf/s"})
        BOOST_TEST(
            reason(text).starts_with(
                "rule text, character 1: expected a count, a number such as 20 or 0.5, found '"),
            text << ": " << reason(text));
    check_reason("5/s burst 10named x",
                 "rule text, character 11: expected a capacity, a whole number, found '10named'");
    check_reason("5/-1s", "rule text, character 3: expected a unit of time "
                          "(us, ms, s, m, h, d, week, month, year), found '-1s'");
    check_reason("5/1.5s", "rule text, character 4: expected a unit of time "
                           "(us, ms, s, m, h, d, week, month, year), found '.5s'");
}

BOOST_AUTO_TEST_CASE(numbers_end_at_two_to_the_63_and_are_never_wrapped) {
    const auto most = std::numeric_limits<std::int64_t>::max();
    check_rule("9223372036854775807/9223372036854775807us burst 9223372036854775807",
               rule{colimit::algorithm::gcra, most, most, most});
    check_rule("0000000000000000000000001/s", colimit::gcra(1, 1s));
    const std::string larger = "the number is larger than 9223372036854775807";
    check_reason("9223372036854775808/s", "rule text, character 1: " + larger);
    check_reason("18446744073709551617/s", "rule text, character 1: " + larger);
    check_reason("1/9223372036854775808us", "rule text, character 3: " + larger);
    check_reason("1/s burst 9223372036854775808", "rule text, character 11: " + larger);
    check_rule("1/106751991d", colimit::gcra(1, std::chrono::hours{24} * 106'751'991));
    check_reason("1/106751992d", "rule text, character 3: the period does not fit in 64 bits of "
                                 "microseconds");
    check_reason("1 per 9223372036854775807 ms",
                 "rule text, character 7: the period does not fit in 64 bits of microseconds");
}

BOOST_AUTO_TEST_CASE(each_word_is_given_once) {
    check_reason("1/s burst 2 burst 2", "rule text, character 13: burst is given twice");
    check_reason("1/s named a named b", "rule text, character 13: the name is given twice");
    check_reason("1/s shadow shadow", "rule text, character 12: shadow is given twice");
    check_reason("1/s gcra cell", "rule text, character 10: the algorithm is given twice");
    check_reason("1/s stepwise aligned",
                 "rule text, character 14: stepwise or aligned is given twice");
    check_reason("1/s initially 0 initially 0",
                 "rule text, character 17: initially is given twice");
    check_reason("1/s from_first from_first", "rule text, character 16: from_first is given twice");
    check_reason("1/s count_denied count_denied",
                 "rule text, character 18: count_denied is given twice");
    check_reason("1/day utc utc", "rule text, character 11: utc is given twice");
}

BOOST_AUTO_TEST_CASE(names_have_1_to_64_characters_of_their_alphabet) {
    const std::string expected =
        "rule text, character 11: expected a name of 1 to 64 characters of [A-Za-z0-9_.-], found ";
    BOOST_TEST(parse_rules("1/s named " + std::string(64, 'x'))[0].name() == std::string(64, 'x'));
    check_reason("1/s named " + std::string(65, 'x'), expected + "65 characters");
    check_reason("1/s named ;", expected + "';'");
    check_reason("1/s named a{b}", expected + "'a{b}'");
    check_reason("1/s named", "rule text, character 10: expected a name of 1 to 64 characters of "
                              "[A-Za-z0-9_.-], found the end");
}

BOOST_AUTO_TEST_CASE(strange_bytes_are_shown_escaped_and_cut) {
    using namespace std::string_view_literals;
    check_reason("1/\0\x01\xc2\xb5s'\\\x7f"sv, "rule text, character 3: expected a unit of time "
                                               "(us, ms, s, m, h, d, week, month, year), found "
                                               "'\\x00\\x01\\xc2\\xb5s\\'\\\\\\x7f'");
    check_reason("1/" + std::string(500, 'y'), "rule text, character 3: expected a unit of time "
                                               "(us, ms, s, m, h, d, week, month, year), found '" +
                                                   std::string(24, 'y') + "...'");
}

BOOST_AUTO_TEST_CASE(a_text_above_the_limit_is_refused_unread) {
    const auto most = colimit::limits::max_rule_text_bytes;
    BOOST_TEST(parse_rules("1/s" + std::string(most - 3, ' ')).size() == 1U);
    check_reason("1/s" + std::string(most - 2, ' '),
                 "rule text, character 2049: text too long (got 2049 characters, expected at "
                 "most 2048)");
}

BOOST_AUTO_TEST_CASE(the_text_of_any_rule_gives_it_back) {
    auto random = colimit::test::random_rules{1};
    for (int i = 0; i < 100'000; ++i) {
        const auto r = random.any();
        const auto text = to_string(r);
        const auto read = parse_rules(text);
        BOOST_REQUIRE_MESSAGE(read.size() == 1 && read[0] == r, text);
        BOOST_REQUIRE_MESSAGE(to_string(read[0]) == text, text);
    }
}

BOOST_AUTO_TEST_CASE(eight_joined_texts_of_any_rules_give_them_back) {
    auto random = colimit::test::random_rules{2};
    for (int i = 0; i < 10'000; ++i) {
        std::vector<rule> rules;
        std::string text;
        while (rules.size() < 8) {
            rules.push_back(random.any());
            text += (text.empty() ? "" : "; ") + to_string(rules.back());
        }
        BOOST_REQUIRE_MESSAGE(parse_rules(text) == rules, text);
    }
}

BOOST_AUTO_TEST_SUITE_END()

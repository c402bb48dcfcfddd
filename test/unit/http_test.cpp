// SPDX-License-Identifier: BSL-1.0
//
// Decisions in the form of HTTP. test/http parses the fields with the parser of another project.

#include <colimit/http.hpp>
#include <colimit/local_limiter.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::http {

static std::ostream& operator<<(std::ostream& out, const field& f) {
    return out << f.name << ": " << f.value;
}

} // namespace colimit::http

BOOST_AUTO_TEST_SUITE(http_fields)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
using us = std::chrono::microseconds;

constexpr auto start = time_point{1'700'000'000s};

/// A client of one key, at times that it chooses.
struct client {
    explicit client(policy p) : limits(std::move(p)) {}

    decision call(std::int64_t cost = 1) {
        member = "m" + std::to_string(++calls);
        return store.allow("k", limits, {.cost = cost, .member = member, .now = now});
    }
    void pass(std::int64_t seconds) { now += std::chrono::seconds{seconds}; }

    policy limits;
    local_limiter store{1'000};
    time_point now = start;
    std::string member;
    int calls = 0;
};

[[nodiscard]] std::int64_t number_behind(std::string_view text, std::string_view key,
                                         std::int64_t otherwise) {
    const auto at = text.find(key);
    if (at == text.npos)
        return otherwise;
    auto value = std::int64_t{};
    (void)std::from_chars(text.data() + at + key.size(), text.data() + text.size(), value);
    return value;
}

/// Each kind of rule, alone, with several numbers; without those that start with less than all.
template<class Check>
void for_rules_of_every_kind(Check check) {
    for (const auto limit : {1, 2, 7, 60})
        for (const auto period : {us{1s}, us{10s}, us{1'500ms}, us{999'983}, us{1h}}) {
            auto all = test::rules_of_every_kind(limit, period);
            all.push_back(sliding_log(limit, period));
            all.push_back(distinct(limit, period));
            for (const auto& r : all)
                BOOST_TEST_CONTEXT(to_string(r)) {
                    check(policy{"p", r}, limit);
                }
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(an_allowed_call_has_the_quota_of_each_rule) {
    auto c = client{
        policy{"p", fixed_window(20, 1min).named("minute"), gcra(5, 1s).burst(12).named("second")}};
    const auto d = c.call();
    const auto expected = std::vector<http::field>{
        {"RateLimit-Policy", R"("minute";q=20;w=60, "second";q=12;w=3)"},
        {"RateLimit", R"("minute";r=19;t=40, "second";r=11;t=1)"}}; // start is 20 s after a minute
    const auto fields = http::draft_11::fields(c.limits, d);
    BOOST_TEST(fields == expected, boost::test_tools::per_element());
    BOOST_TEST(http::status_of(d) == 200U);
    BOOST_TEST(!http::retry_after(d));
}

BOOST_AUTO_TEST_CASE(a_denied_call_has_retry_after_and_is_not_cached) {
    auto c =
        client{policy{"p", fixed_window(20, 1min).named("minute"), gcra(1, 1500ms).named("slow")}};
    (void)c.call();
    const auto d = c.call();
    const auto expected = std::vector<http::field>{
        {"RateLimit-Policy", R"("minute";q=20;w=60, "slow";q=1;w=2)"},
        {"RateLimit", R"("minute";r=19, "slow";r=0;t=2)"}, // not later than Retry-After
        {"Retry-After", "2"},
        {"Cache-Control", "no-store"},
        {"X-RateLimit-Limit", "1"},
        {"X-RateLimit-Remaining", "0"},
        {"X-RateLimit-Reset", "2"}};
    const auto fields = http::draft_11::fields(c.limits, d, {.x_ratelimit = true});
    BOOST_TEST(fields == expected, boost::test_tools::per_element());
    BOOST_TEST(http::status_of(d) == 429U);
}

BOOST_AUTO_TEST_CASE(a_call_that_never_fits_has_no_time) {
    auto c = client{policy{"p", gcra(3, 1s)}};
    const auto d = c.call(4);
    BOOST_TEST(http::draft_11::limit_field(c.limits, d) == R"("gcra";r=3)");
    BOOST_TEST(!http::retry_after(d));
    BOOST_TEST(http::status_of(d) == 429U);
}

BOOST_AUTO_TEST_CASE(shadows_are_not_told) {
    auto c = client{policy{"p", gcra(3, 1s), gcra(1, 1h).named("planned").shadow()}};
    (void)c.call();
    const auto d = c.call(4);
    BOOST_TEST(http::draft_11::policy_field(c.limits) == R"("gcra";q=3;w=1)");
    BOOST_TEST(http::draft_11::limit_field(c.limits, d) == R"("gcra";r=2)");
    const auto body = boost::json::parse(http::problem_body(c.limits, d));
    BOOST_TEST(body.at("violated-policies") == (boost::json::array{"gcra"}));

    auto shadow = client{policy{"p", gcra(3, 1s)}.shadow().prevent_duplicate(1s)};
    BOOST_TEST(http::draft_11::fields(shadow.limits, shadow.call()).empty());
    for (const auto& p : {shadow.limits, policy{"q", gcra(3, 1s).shadow()}}) {
        auto other = client{p};
        BOOST_TEST(
            http::draft_11::fields(other.limits, other.call(), {.x_ratelimit = true}).empty());
    }
}

BOOST_AUTO_TEST_CASE(duplicates_are_an_item_with_a_quota_of_one) {
    auto c = client{policy{"p", gcra(3, 1s)}.prevent_duplicate(4500ms)};
    const auto first = c.call();
    BOOST_TEST(http::draft_11::policy_field(c.limits) ==
               R"("gcra";q=3;w=1, "prevent_duplicate";q=1;w=5)");
    BOOST_TEST(http::draft_11::limit_field(c.limits, first) ==
               R"("gcra";r=2;t=1, "prevent_duplicate";r=0;t=5)");
    c.pass(2);
    const auto second = c.call();
    BOOST_TEST(http::draft_11::limit_field(c.limits, second) ==
               R"("gcra";r=3, "prevent_duplicate";r=0;t=3)");
    BOOST_TEST(http::retry_after(second).value() == 3);
    const auto body = boost::json::parse(http::problem_body(c.limits, second));
    BOOST_TEST(body.at("violated-policies") == (boost::json::array{"prevent_duplicate"}));
    const auto peeked = c.store.peek("k", c.limits, {.cost = 0, .now = c.now});
    BOOST_TEST(http::draft_11::limit_field(c.limits, peeked).find("r=0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_problem_says_which_rules_denied) {
    auto c = client{
        policy{"p", gcra(1, 1h).named("a"), gcra(2, 1h).named("b"), gcra(1, 1min).named("c")}};
    BOOST_TEST(http::problem_body(c.limits, c.call()).empty());
    const auto body = boost::json::parse(http::problem_body(c.limits, c.call()));
    const auto expected = boost::json::value{
        {"type", "https://iana.org/assignments/http-problem-types#quota-exceeded"},
        {"title", "The request exceeds the assigned quota"},
        {"status", 429},
        {"violated-policies", {"a", "c"}}};
    BOOST_TEST(body == expected);
}

/// Also of rules that would allow the call: a client that trusts the fields would send it.
BOOST_AUTO_TEST_CASE(nothing_remains_for_a_blocked_client) {
    auto c = client{policy{"p", gcra(5, 1min).named("a"), fixed_window(9, 1h).named("b")}};
    (void)c.store.block("k", c.limits, 90s, {.now = c.now});
    const auto d = c.call();
    const auto expected =
        std::vector<http::field>{{"RateLimit-Policy", R"("x/a";q=5;w=60, "x/b";q=9;w=3600)"},
                                 {"RateLimit", R"("x/a";r=0;t=90, "x/b";r=0;t=90)"},
                                 {"Retry-After", "90"},
                                 {"Cache-Control", "no-store"},
                                 {"X-RateLimit-Limit", "0"},
                                 {"X-RateLimit-Remaining", "0"},
                                 {"X-RateLimit-Reset", "90"}};
    const auto fields = http::draft_11::fields(c.limits, d, {.x_ratelimit = true, .prefix = "x/"});
    BOOST_TEST(fields == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_block_is_a_problem_of_its_own) {
    auto c = client{policy{"p", gcra(1, 1h)}};
    (void)c.store.block("k", c.limits, 90s, {.now = c.now});
    const auto d = c.call();
    const auto body = boost::json::parse(http::problem_body(c.limits, d));
    BOOST_TEST(body.at("type").as_string().ends_with("#abnormal-usage-detected"));
    BOOST_TEST(body.at("violated-policies").as_array().empty());
    BOOST_TEST(http::retry_after(d).value() == 90);
    BOOST_TEST(http::status_of(d) == 429U);
}

BOOST_AUTO_TEST_CASE(a_decision_of_no_store_has_no_numbers) {
    const auto p = policy{"p", gcra(3, 1s)};
    auto d = decision{};
    d.source = decision_source::fail_closed;
    d.retry_after = 250ms;
    const auto expected = std::vector<http::field>{{"RateLimit-Policy", R"("gcra";q=3;w=1)"},
                                                   {"Retry-After", "1"},
                                                   {"Cache-Control", "no-store"}};
    const auto fields = http::draft_11::fields(p, d, {.x_ratelimit = true});
    BOOST_TEST(fields == expected, boost::test_tools::per_element());
    BOOST_TEST(http::status_of(d) == 503U);
    const auto body = boost::json::parse(http::problem_body(p, d));
    BOOST_TEST(body.at("type").as_string().ends_with("#temporary-reduced-capacity"));
    BOOST_TEST(body.at("violated-policies").as_array().empty());

    d.outcome = outcome::allowed;
    d.source = decision_source::fail_open;
    BOOST_TEST(http::draft_11::fields(p, d, {.x_ratelimit = true}).size() == 1U);
    BOOST_TEST(http::status_of(d) == 200U);
}

BOOST_AUTO_TEST_CASE(a_denial_whose_time_is_unknown_asks_to_wait_for_a_second) {
    BOOST_TEST(http::retry_after(decision{}).value() == 1);
}

BOOST_AUTO_TEST_CASE(numbers_stay_within_structured_fields) {
    auto c = client{policy{"p", fixed_window(limits::max_exact_integer, 24h)}};
    BOOST_TEST(http::draft_11::policy_field(c.limits) ==
               R"("fixed_window";q=999999999999999;w=86400)");
    BOOST_TEST(number_behind(http::draft_11::limit_field(c.limits, c.call()), ";r=", 0) ==
               999'999'999'999'999);
}

BOOST_AUTO_TEST_CASE(after_retry_after_the_call_is_allowed) {
    for_rules_of_every_kind([](const policy& p, std::int64_t) {
        auto c = client{p};
        c.now += us{123'457};
        for (int i = 0; i < 3; ++i) {
            while (c.call().allowed()) {
            }
            const auto d = c.call();
            const auto field = http::draft_11::limit_field(p, d);
            BOOST_TEST(number_behind(field, ";t=", 0) == http::retry_after(d).value());
            c.pass(http::retry_after(d).value());
            BOOST_TEST_REQUIRE(c.call().allowed());
        }
    });
}

BOOST_AUTO_TEST_CASE(a_client_that_trusts_what_remains_is_never_denied) {
    for_rules_of_every_kind([](const policy& p, std::int64_t limit) {
        auto c = client{p};
        c.now += us{123'457};
        auto d = c.call();
        for (int i = 0; i < 10 * limit; ++i) {
            BOOST_TEST_REQUIRE(d.allowed());
            const auto field = http::draft_11::limit_field(p, d);
            if (number_behind(field, ";r=", 0) == 0)
                c.pass(number_behind(field, ";t=", 0));
            d = c.call();
        }
    });
}

BOOST_AUTO_TEST_CASE(a_client_that_spreads_the_quota_is_never_denied) {
    for_rules_of_every_kind([](const policy& p, std::int64_t limit) {
        auto c = client{p};
        c.now += us{123'457};
        const auto field = http::draft_11::policy_field(p);
        const auto quota = number_behind(field, ";q=", 0);
        const auto window = number_behind(field, ";w=", 0) * 1'000'000;
        BOOST_TEST(quota == limit);
        for (int i = 0; i < 5 * limit; ++i) {
            const auto d = c.call();
            BOOST_TEST_REQUIRE(d.allowed());
            c.now += us{(window + quota - 1) / quota};
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

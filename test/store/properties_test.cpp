// SPDX-License-Identifier: BSL-1.0
//
// Properties that hold for every bucket rule on every store, on random rules and at the edges. The
// numbers in the names are those of the specification.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/random_rule.hpp>
#include <support/refusal.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <limits>
#include <random>

BOOST_AUTO_TEST_SUITE(properties)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// Calls on Redis take one round trip each, so there are a few hundred.
constexpr int samples = 300;

[[nodiscard]] time_point us(std::int64_t since_1970) {
    return time_point{std::chrono::microseconds{since_1970}};
}

/// A policy of one random rule that makes sense; its name is its own.
[[nodiscard]] policy random_policy(random_rules& random) {
    for (;;) {
        try {
            return policy{"random", random.next().shadow(false)};
        } catch (const error&) { // NOLINT(bugprone-empty-catch)
            // Most random numbers make no rule.
        }
    }
}

BOOST_DATA_TEST_CASE(P1_the_first_allow_leaves_the_limit_minus_one, every_store()) {
    auto s = open_store(sample);
    random_rules random{1};
    constexpr std::int64_t year_2100 = 4'102'444'800'000'000;
    for (int i = 0; i < samples; ++i) {
        const auto count = 1 + static_cast<std::int64_t>(random.below_or_at(999));
        const auto period = std::chrono::seconds{1 + random.below_or_at(i % 2 == 0 ? 60 : 86'400)};
        const auto now = us(static_cast<std::int64_t>(random.below_or_at(year_2100)));
        const policy p{"p", gcra(count, period)};
        const auto d = s->allow(std::to_string(i), p, {.now = now});
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.remaining == count - 1);
        BOOST_TEST((d.server_time == now));
    }
}

BOOST_DATA_TEST_CASE(P2_a_retry_is_allowed_exactly_at_retry_after, every_store()) {
    auto s = open_store(sample);
    random_rules random{2};
    for (int i = 0; i < samples; ++i) {
        const auto p = random_policy(random);
        const auto key = std::to_string(i);
        const auto capacity = p[0].capacity();
        const auto cost = 1 + static_cast<std::int64_t>(
                                  random.below_or_at(static_cast<std::uint64_t>(capacity - 1)));
        const auto now = at(static_cast<std::int64_t>(random.below_or_at(10'000'000)));
        s->allow(key, p, {.cost = capacity, .now = now});
        const auto refused = s->allow(key, p, {.cost = cost, .now = now});
        BOOST_TEST_REQUIRE(refused.outcome == outcome::denied, to_string(p[0]));
        const auto then = now + refused.retry_after;
        const auto early = s->allow(key, p, {.cost = cost, .now = then - 1us});
        BOOST_TEST(early.outcome == outcome::denied, to_string(p[0]) << ": " << early);
        BOOST_TEST(early.retry_after.count() == 1);
        const auto allowed = s->allow(key, p, {.cost = cost, .now = then});
        BOOST_TEST(allowed.outcome == outcome::allowed, to_string(p[0]) << ": " << allowed);
    }
}

BOOST_DATA_TEST_CASE(P2_holds_for_rules_that_count_in_milliseconds_and_seconds, every_store()) {
    auto s = open_store(sample);
    for (const auto& r : {token_bucket(104'729, 104'729, 24h).named("ms"),
                          token_bucket(104'729'000, 104'729, 24h).named("s")}) {
        const policy p{std::string{r.name()}, r};
        const auto now = at(1'234'567); // amid a millisecond and a second
        const auto first = s->allow("k", p, {.cost = r.capacity(), .now = now});
        BOOST_TEST(first.rules[0].resolution.count() == (r.name() == "ms" ? 1'000 : second));
        const auto refused = s->allow("k", p, {.cost = 10, .now = now});
        BOOST_TEST(refused.outcome == outcome::denied);
        const auto then = now + refused.retry_after;
        BOOST_TEST(s->allow("k", p, {.cost = 10, .now = then - 1us}).retry_after.count() == 1);
        BOOST_TEST(s->allow("k", p, {.cost = 10, .now = then}).outcome == outcome::allowed);
    }
}

BOOST_DATA_TEST_CASE(everything_has_recovered_exactly_at_reset_after, every_store()) {
    auto s = open_store(sample);
    random_rules random{3};
    for (int i = 0; i < samples; ++i) {
        const auto p = random_policy(random);
        const auto key = std::to_string(i);
        const auto cost = 1 + static_cast<std::int64_t>(random.below_or_at(
                                  static_cast<std::uint64_t>(p[0].capacity() - 1)));
        const auto d = s->allow(key, p, {.cost = cost, .now = at(0)});
        const auto end = at(0) + d.reset_after;
        BOOST_TEST(s->peek(key, p, {.now = end}).reset_after.count() == 0);
        BOOST_TEST(s->peek(key, p, {.now = end}).remaining == p[0].capacity());
        BOOST_TEST(s->peek(key, p, {.now = end - 1us}).reset_after.count() == 1);
    }
}

BOOST_DATA_TEST_CASE(P5_a_hundred_a_second_with_burst_10_lets_10_of_15_through, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(100, 1s).burst(10)};
    auto allowed = 0;
    for (int i = 0; i < 15; ++i)
        allowed += s->allow("k", p, {.now = at(0)}).allowed() ? 1 : 0;
    BOOST_TEST(allowed == 10);
}

BOOST_DATA_TEST_CASE(no_store_ever_admits_more_than_the_capacity_and_what_was_repaid,
                     every_store()) {
    auto s = open_store(sample);
    std::mt19937_64 random{5};
    const policy p{"p", gcra(7, 3s).burst(5)};
    auto now = std::int64_t{0};
    auto granted = std::int64_t{0};
    for (int i = 0; i < samples; ++i) {
        now += static_cast<std::int64_t>(random() % 400'000);
        const auto cost = static_cast<std::int64_t>(random() % 4);
        granted += s->allow("k", p, {.cost = cost, .at_least = 0, .now = at(now)}).granted;
        BOOST_TEST(granted <= 5 + now * 7 / (3 * second));
    }
    BOOST_TEST(granted > now * 7 / (3 * second) - 5); // nor less than it could have
}

BOOST_DATA_TEST_CASE(P8_a_step_back_costs_at_most_one_debt_and_mints_nothing, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    s->allow("k", p, {.cost = 10, .now = at(100 * second)});
    const auto back = s->allow("k", p, {.now = at(0)});
    BOOST_TEST(back.outcome == outcome::denied);
    BOOST_TEST(back.remaining == 0);
    BOOST_TEST(back.retry_after.count() == second);
    // The denial has moved the state to the new time, so it recovers from there on.
    BOOST_TEST(s->allow("k", p, {.now = at(second)}).outcome == outcome::allowed);
    BOOST_TEST(s->peek("k", p, {.now = at(11 * second)}).remaining == 10);
}

BOOST_DATA_TEST_CASE(P8_a_peek_sees_a_step_back_and_leaves_the_state_where_it_is, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    s->allow("k", p, {.cost = 10, .now = at(100 * second)});
    BOOST_TEST(s->peek("k", p, {.now = at(0)}).retry_after.count() == second);
    BOOST_TEST(s->peek("k", p, {.now = at(50 * second)}).retry_after.count() == second);
    BOOST_TEST(s->peek("k", p, {.now = at(101 * second)}).remaining == 1);
}

BOOST_DATA_TEST_CASE(P8_a_step_forward_gives_at_most_one_capacity, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    s->allow("k", p, {.cost = 10, .now = us(0)});
    const auto last = us(limits::max_time);
    BOOST_TEST(s->allow("k", p, {.cost = 10, .now = last}).outcome == outcome::allowed);
    BOOST_TEST(s->allow("k", p, {.now = last}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", p, {.now = us(0)}).outcome == outcome::denied);
}

BOOST_DATA_TEST_CASE(P11_costs_at_the_edges_are_right_or_refused, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    constexpr auto two_31 = std::int64_t{1} << 31;
    constexpr auto two_53 = std::int64_t{1} << 53;
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    for (const auto cost : {two_31, two_31 - 1, two_53 - 1})
        BOOST_TEST(s->allow("k", p, {.cost = cost, .now = at(0)}).outcome == outcome::never);
    for (const auto cost : {std::int64_t{-1}, least, two_53, -1 - least})
        for (const auto verb :
             {asked_verb::allow, asked_verb::peek, asked_verb::charge, asked_verb::refund})
            BOOST_TEST(
                (s->ask(verb, "k", p, {.cost = cost, .now = at(0)}).ec == errc::invalid_argument));
    BOOST_TEST(s->peek("k", p, {.now = at(0)}).remaining == 10);
}

BOOST_DATA_TEST_CASE(P11_capacities_at_the_edges_count_every_token, every_store()) {
    auto s = open_store(sample);
    constexpr auto two_31 = std::int64_t{1} << 31;
    for (const auto capacity : {two_31 - 1, two_31, two_31 + 1, limits::max_exact_integer}) {
        const policy p{"p" + std::to_string(capacity), gcra(1'000'000'000, 1s).burst(capacity)};
        BOOST_TEST(s->allow("k", p, {.cost = capacity - 1, .now = at(0)}).remaining == 1);
        BOOST_TEST(s->allow("k", p, {.cost = 2, .now = at(0)}).outcome == outcome::denied);
        BOOST_TEST(s->allow("k", p, {.cost = 1, .now = at(0)}).remaining == 0);
    }
}

BOOST_DATA_TEST_CASE(other_arguments_out_of_their_range_are_refused_and_charge_nothing,
                     every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    const auto refused = [&](const check_options& o) {
        return s->ask(asked_verb::allow, "k", p, o).ec == errc::invalid_argument;
    };
    BOOST_TEST(refused({.cost = 2, .at_least = 3, .now = at(0)}));
    BOOST_TEST(refused({.cost = 2, .at_least = -1, .now = at(0)}));
    BOOST_TEST(refused({.now = us(-1)}));
    BOOST_TEST(refused({.now = us(limits::max_time + 1)}));
    BOOST_TEST(s->peek("k", p, {.now = at(0)}).remaining == 10);
}

BOOST_DATA_TEST_CASE(a_key_of_64_KiB_is_a_key_and_a_longer_one_is_refused, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10)};
    const auto longest = std::string(limits::max_key_bytes, 'x');
    BOOST_TEST(s->allow(longest, p, {.cost = 3, .now = at(0)}).remaining == 7);
    BOOST_TEST(s->peek(longest, p, {.now = at(0)}).remaining == 7);
    for (const auto verb : {asked_verb::allow, asked_verb::peek, asked_verb::charge,
                            asked_verb::refund, asked_verb::reset})
        BOOST_TEST((s->ask(verb, longest + 'x', p, {.now = at(0)}).ec == errc::invalid_key));
}

BOOST_DATA_TEST_CASE(P10_no_bytes_of_a_key_collide_with_another_key, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(100)};
    const auto keys = std::vector<std::string>{"",
                                               " ",
                                               "a",
                                               "a ",
                                               "A",
                                               "a\r\n",
                                               std::string("a\0", 2),
                                               std::string("\0", 1),
                                               "{a}",
                                               "}{",
                                               "{",
                                               "k:a",
                                               "h:a",
                                               "p:k:a",
                                               "\r\n$3\r\nabc\r\n",
                                               "*1\r\n$8\r\nFLUSHALL\r\n",
                                               "\xff\xfe",
                                               "\xc3\xa4",
                                               "%s%n",
                                               "'; --",
                                               std::string(256, 'y'),
                                               std::string(257, 'y'),
                                               std::string(257, 'z'),
                                               std::string(300, '\n'),
                                               std::string(256, '\0')};
    for (std::size_t i = 0; i < keys.size(); ++i)
        s->charge(keys[i], p, {.cost = static_cast<std::int64_t>(1 + i), .now = at(0)});
    for (std::size_t i = 0; i < keys.size(); ++i)
        BOOST_TEST(s->peek(keys[i], p, {.now = at(0)}).rules[0].balance ==
                   100 - static_cast<std::int64_t>(1 + i));
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

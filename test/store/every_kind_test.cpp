// SPDX-License-Identifier: BSL-1.0
//
// The properties that hold for every kind of rule, on every store. test/unit tests them for the
// arithmetic alone with many more histories; here they go through keys, values and scripts.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(every_kind)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using us = std::chrono::microseconds;

/// A policy for each kind, and logs.
[[nodiscard]] std::vector<policy> every_kind(std::int64_t limit, us period) {
    auto all = std::vector<policy>{};
    for (const auto& r : rules_of_every_kind(limit, period))
        all.emplace_back("p" + std::to_string(all.size()), r);
    all.emplace_back("log", sliding_log(limit, period));
    return all;
}

[[nodiscard]] std::string text_of(const policy& p) {
    return to_string(p[0]);
}

/// Some calls for a key, up to a time that is answered.
[[nodiscard]] std::int64_t live_a_little(open_limiter& s, const std::string& key, const policy& p,
                                         test::rng& roll) {
    const auto capacity = p[0].capacity();
    auto now = roll.between(0, 86'400 * second - 1);
    for (auto n = roll.between(0, 4); n >= 0; --n) {
        const auto cost = roll.between(0, capacity);
        switch (roll.between(0, 4)) {
        case 0:
            s.charge(key, p, {.cost = cost, .now = at(now)});
            break;
        case 1:
            s.refund(key, p, {.cost = cost, .now = at(now)});
            break;
        case 2:
            now += roll.between(0, 3 * second - 1);
            break;
        default:
            s.allow(key, p, {.cost = cost, .at_least = roll.between(0, cost), .now = at(now)});
        }
    }
    return now;
}

/// `check(policy, key, now)` for every kind after some histories.
template<class Check>
void after_some_histories(open_limiter& s, Check check) {
    auto roll = test::rng{42};
    for (const auto limit : {1, 2, 7})
        for (const auto period : {us{1s}, us{999'983}})
            for (const auto& p : every_kind(limit, period))
                for (int i = 0; i < 3; ++i) {
                    const auto key = std::to_string(limit) + ' ' + std::to_string(period.count()) +
                                     ' ' + std::to_string(i);
                    const auto now = live_a_little(s, key, p, roll);
                    BOOST_TEST_CONTEXT(text_of(p) << " for " << key << " at " << now)
                    check(p, key, now, roll);
                }
}

BOOST_DATA_TEST_CASE(P1_the_first_allow_of_any_kind_leaves_the_limit_minus_one, every_store()) {
    constexpr std::int64_t year_2100 = 4'102'444'800'000'000;
    for (const auto since_1970 : {std::int64_t{0}, std::int64_t{1'700'000'000'999'999}, year_2100})
        for (const auto count : {1, 3, 999, 1000}) {
            auto s = open_store(sample);
            for (const auto& p : every_kind(count, us{1min})) {
                const auto now = time_point{us{since_1970}};
                const auto d = s->allow(std::to_string(count), p, {.now = now});
                BOOST_TEST(d.outcome == outcome::allowed, text_of(p));
                BOOST_TEST(d.remaining == count - 1, text_of(p));
                BOOST_TEST((d.server_time == now));
            }
        }
}

BOOST_DATA_TEST_CASE(P2_any_kind_allows_a_retry_exactly_at_retry_after, every_store()) {
    auto s = open_store(sample);
    after_some_histories(
        *s, [&](const policy& p, const std::string& key, std::int64_t now, test::rng& roll) {
            const auto cost = 1 + roll.between(0, p[0].capacity() - 1);
            s->allow(key, p, {.cost = p[0].capacity(), .at_least = 0, .now = at(now)});
            const auto d = s->allow(key, p, {.cost = cost, .now = at(now)});
            BOOST_TEST_REQUIRE(d.outcome == outcome::denied);
            const auto then = at(now) + d.retry_after;
            const auto early = s->allow(key, p, {.cost = cost, .now = then - 1us});
            BOOST_TEST(early.outcome == outcome::denied);
            BOOST_TEST(early.retry_after.count() == 1);
            BOOST_TEST(s->allow(key, p, {.cost = cost, .now = then}).outcome == outcome::allowed);
        });
}

BOOST_DATA_TEST_CASE(at_reset_after_any_kind_has_recovered_and_no_earlier, every_store()) {
    auto s = open_store(sample);
    after_some_histories(
        *s, [&](const policy& p, const std::string& key, std::int64_t now, test::rng&) {
            const auto d = s->allow(key, p, {.at_least = 0, .now = at(now)});
            const auto end = at(now) + d.reset_after;
            if (d.reset_after.count() > 0)
                BOOST_TEST(s->peek(key, p, {.now = end - 1us}).reset_after.count() == 1);
            BOOST_TEST(s->peek(key, p, {.now = end}).reset_after.count() == 0);
            BOOST_TEST(s->peek(key, p, {.now = end}).remaining == p[0].capacity());
        });
}

BOOST_DATA_TEST_CASE(P3_a_denial_by_any_kind_changes_no_key, every_redis()) {
    auto s = open_store(sample);
    for (const auto& p : every_kind(3, us{1min})) {
        s->allow("k", p, {.cost = 3, .now = at(0)});
        const auto before = take_picture();
        for (const auto t : {0, 1, 700'000}) {
            BOOST_TEST(s->allow("k", p, {.cost = 3, .now = at(t)}).outcome == outcome::denied);
            BOOST_TEST(s->allow("k", p, {.cost = 4, .now = at(t)}).outcome == outcome::never);
            s->peek("k", p, {.cost = 0, .now = at(t)});
        }
        BOOST_TEST((take_picture() == before), text_of(p));
    }
}

/// Buckets with a beginning of their own are kept for another fill time.
[[nodiscard]] std::int64_t longest_life(const policy& p, std::int64_t recovery) {
    const auto& r = p[0];
    if (!r.has_initial())
        return 2 * recovery + second;
    const auto fills = (r.capacity() + r.count() - 1) / r.count() * r.period().count();
    return 2 * (recovery + fills) + second;
}

BOOST_DATA_TEST_CASE(P4_keys_of_any_kind_outlive_their_state_and_end_in_time, every_redis()) {
    auto s = open_store(sample, 0ms);
    auto roll = test::rng{42};
    constexpr asked_verb verbs[] = {asked_verb::allow, asked_verb::allow, asked_verb::charge,
                                    asked_verb::refund, asked_verb::peek};
    auto checked = 0;
    for (const auto& p : every_kind(20, us{2s}))
        for (int i = 0; i < 40; ++i) {
            const auto verb = verbs[roll.between(0, 4)];
            const auto got = s->ask(verb, "k", p, {.cost = roll.between(0, 5)});
            BOOST_REQUIRE(!got.ec);
            const auto recovery = got.result.reset_after.count();
            const auto found = look().keys();
            const auto name = p.name() == "log" ? log_name_of(p, "k") : name_of(p, "k");
            if (recovery == 0 || std::ranges::find(found, name) == found.end())
                continue;
            const auto ttl = look().pttl(name);
            const auto lives = std::max<std::int64_t>(ttl, 0) * 1000; // it may have ended meanwhile
            const auto looked = look().time();
            ++checked;
            BOOST_TEST(ttl != -1, text_of(p));
            BOOST_TEST(lives <= longest_life(p, recovery), text_of(p));
            const auto recovers = (got.result.server_time + got.result.reset_after);
            BOOST_TEST(looked + lives >= recovers.time_since_epoch().count(), text_of(p));
        }
    BOOST_TEST(checked > 300);
}

BOOST_DATA_TEST_CASE(P5_any_kind_with_a_limit_of_10_lets_10_of_15_through, every_store()) {
    auto s = open_store(sample);
    for (const auto& p : every_kind(10, us{100ms})) {
        auto allowed = 0;
        for (int i = 0; i < 15; ++i)
            allowed += s->allow("k", p, {.now = at(0)}).allowed() ? 1 : 0;
        BOOST_TEST(allowed == 10, text_of(p));
    }
}

BOOST_DATA_TEST_CASE(P6_a_partial_grant_of_any_kind_charges_what_it_grants, every_store()) {
    auto s = open_store(sample);
    after_some_histories(
        *s, [&](const policy& p, const std::string& key, std::int64_t now, test::rng& roll) {
            const auto before = s->peek(key, p, {.cost = 0, .now = at(now)});
            const auto cost = 1 + roll.between(0, 2 * p[0].capacity() - 1);
            const auto d = s->allow(key, p, {.cost = cost, .at_least = 1, .now = at(now)});
            BOOST_TEST(d.granted == std::min(cost, before.remaining));
            BOOST_TEST(d.rules[0].balance == before.rules[0].balance - d.granted);
        });
}

BOOST_DATA_TEST_CASE(P8_a_step_back_costs_any_kind_at_most_one_limit, every_store()) {
    auto s = open_store(sample);
    for (const auto& p : every_kind(5, us{1s})) {
        // Windows of a calendar are long: the step is longer.
        const auto step = 800LL * 86'400 * second;
        s->allow("k", p, {.cost = 5, .now = at(step)});
        const auto back = s->allow("k", p, {.now = at(0)});
        BOOST_TEST(back.outcome == outcome::denied, text_of(p));
        BOOST_TEST(back.remaining == 0, text_of(p));
        const auto then = at(0) + back.retry_after;
        BOOST_TEST(s->peek("k", p, {.now = then - 1us}).outcome == outcome::denied, text_of(p));
        BOOST_TEST(s->allow("k", p, {.now = then}).outcome == outcome::allowed, text_of(p));
    }
}

BOOST_DATA_TEST_CASE(P8_a_step_forward_gives_any_kind_one_limit, every_store()) {
    auto s = open_store(sample);
    for (const auto& p : every_kind(5, us{1s})) {
        const auto step = 800LL * 86'400 * second;
        s->allow("k", p, {.cost = 5, .now = at(0)});
        BOOST_TEST(s->allow("k", p, {.cost = 5, .now = at(step)}).outcome == outcome::allowed,
                   text_of(p));
        BOOST_TEST(s->allow("k", p, {.now = at(step)}).outcome == outcome::denied, text_of(p));
    }
}

BOOST_DATA_TEST_CASE(P15_a_refund_lifts_no_kind_above_its_limit, every_unpacked()) {
    auto s = open_store(sample);
    after_some_histories(
        *s, [&](const policy& p, const std::string& key, std::int64_t now, test::rng& roll) {
            const auto before = s->peek(key, p, {.cost = 0, .now = at(now)}).rules[0].balance;
            const auto cost = roll.between(0, p[0].capacity());
            s->charge(key, p, {.cost = cost, .now = at(now)});
            const auto back = s->refund(key, p, {.cost = cost, .now = at(now)});
            BOOST_TEST(back.rules[0].balance == before);
            for (const auto more : {std::int64_t{1}, limits::max_exact_integer})
                BOOST_TEST(s->refund(key, p, {.cost = more, .now = at(now)}).remaining <=
                           p[0].capacity());
        });
}

BOOST_DATA_TEST_CASE(reset_forgets_any_kind, every_store()) {
    auto s = open_store(sample);
    for (const auto& p : every_kind(5, us{1s})) {
        s->charge("k", p, {.cost = 50, .now = at(0)});
        BOOST_TEST(s->reset("k", p, {.now = at(1)}).remaining == 5, text_of(p));
        BOOST_TEST(s->allow("k", p, {.cost = 5, .now = at(2)}).outcome == outcome::allowed);
    }
}

/// Returns how much a rule may admit in any interval of a length.
struct bound {
    rule limited;
    std::int64_t window;
    std::int64_t most;
};

[[nodiscard]] std::vector<bound> bounds() {
    constexpr auto day = 86'400 * second;
    auto all = std::vector<bound>{
        {sliding_log(7, 1s), second, 7},
        {fixed_window(7, 1s), second, 14},
        {fixed_window(7, 1s).from_first(), second, 14},
        {sliding_window(7, 1s), second, 14},
        {calendar(7, calendar_unit::day, 330min), day, 14},
        {calendar(7, calendar_unit::month), 28 * day, 14},
    };
    for (const auto periods : {0, 1, 2, 5}) {
        const auto window = periods * second + 300'000;
        all.push_back({token_bucket(7, 3, 1s), window, 7 + 3 * window / second});
        all.push_back({token_bucket(7, 3, 1s).stepwise(), window, 7 + 3 * (periods + 1)});
        all.push_back({token_bucket(7, 3, 1s).aligned(), window, 7 + 3 * (periods + 1)});
    }
    return all;
}

BOOST_DATA_TEST_CASE(P12_no_window_of_time_ever_sees_more_than_its_bound, every_store()) {
    auto s = open_store(sample);
    auto roll = test::rng{42};
    auto number = 0;
    for (const auto& b : bounds()) {
        const policy p{"p" + std::to_string(number++), b.limited};
        auto granted = std::vector<std::pair<std::int64_t, std::int64_t>>{};
        auto now = std::int64_t{0};
        auto most = std::int64_t{0};
        for (int i = 0; i < 250; ++i) {
            now += roll.between(0, 2) == 0 ? roll.between(0, b.window / 2)
                                           : roll.between(0, b.window / 20 - 1);
            const auto d =
                s->allow("k", p, {.cost = 1 + roll.between(0, 8), .at_least = 0, .now = at(now)});
            granted.emplace_back(now, d.granted);
            auto sum = std::int64_t{0};
            for (const auto& [when, n] : granted)
                sum += when > now - b.window ? n : 0;
            most = std::max(most, sum);
        }
        BOOST_TEST(most <= b.most, text_of(p));
        BOOST_TEST(most >= 7, text_of(p));
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

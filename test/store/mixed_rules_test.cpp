// SPDX-License-Identifier: BSL-1.0
//
// Rules of all kinds in one policy: one decision, one script call, all charged or none.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(mixed_rules)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// Of each kind one, with limits of 11 to 18, of which `least` has 10.
[[nodiscard]] policy eight_kinds(std::size_t least = 8) {
    const auto limit = [least](std::size_t i) {
        return i == least ? std::int64_t{10} : static_cast<std::int64_t>(11 + i);
    };
    return policy{"eight",
                  gcra(1, 1min).burst(limit(0)).named("r0"),
                  token_bucket(limit(1), 1, 1min).stepwise().named("r1"),
                  token_bucket(limit(2), 1, 1h).aligned().named("r2"),
                  fixed_window(limit(3), 1h).named("r3"),
                  calendar(limit(4), calendar_unit::month).named("r4"),
                  sliding_window(limit(5), 1h).named("r5"),
                  sliding_log(limit(6), 1h).named("r6"),
                  distinct(limit(7), 1h).named("r7")};
}

[[nodiscard]] check_options with_member(int i, std::string& bytes) {
    bytes = std::to_string(i);
    return {.member = bytes, .now = at(i)};
}

BOOST_DATA_TEST_CASE(P7_a_refusal_by_any_kind_charges_none_of_the_others, every_store()) {
    auto member = std::string{};
    for (std::size_t least = 0; least < 8; ++least) {
        auto s = open_store(sample);
        const auto p = eight_kinds(least);
        for (int i = 0; i < 10; ++i)
            BOOST_TEST(s->allow("k", p, with_member(i, member)).outcome == outcome::allowed);
        const auto before = s->peek("k", p, with_member(10, member));
        const auto refused = s->allow("k", p, with_member(10, member));
        BOOST_TEST(refused.outcome == outcome::denied, p[least].name());
        BOOST_TEST(refused.limiting_rule == least);
        for (std::size_t i = 0; i < 8; ++i)
            BOOST_TEST(refused.rules[i].balance == before.rules[i].balance);
        BOOST_TEST(s->peek("k", p, with_member(10, member)) == before);
    }
}

BOOST_DATA_TEST_CASE(all_kinds_say_in_one_answer_what_each_says_alone, every_store()) {
    auto s = open_store(sample);
    const auto p = eight_kinds();
    auto alone = std::vector<policy>{};
    for (const auto& r : p.rules())
        alone.emplace_back("alone-" + std::string{r.name()}, r);
    std::mt19937_64 random{7};
    auto now = std::int64_t{0};
    for (int i = 0; i < 120; ++i) {
        now += static_cast<std::int64_t>(random() % (900 * static_cast<unsigned>(second)));
        const auto member = std::to_string(random() % 30);
        const auto o = check_options{
            .cost = static_cast<std::int64_t>(random() % 4), .member = member, .now = at(now)};
        auto expected = std::vector<decision>{};
        for (const auto& one : alone)
            expected.push_back(s->peek("k", one, o));
        const auto d = s->allow("k", p, o);
        auto all = true;
        for (const auto& one : expected)
            all = all && one.allowed();
        BOOST_TEST(d.allowed() == all);
        for (std::size_t r = 0; r < 8; ++r)
            BOOST_TEST(d.rules[r].retry_after.count() == expected[r].retry_after.count());
        if (all)
            for (std::size_t r = 0; r < 8; ++r)
                BOOST_TEST((s->allow("k", alone[r], o).rules[0] == d.rules[r]), p[r].name());
    }
}

BOOST_DATA_TEST_CASE(a_call_of_eight_kinds_is_one_script_call, every_redis()) {
    auto s = open_store(sample);
    auto member = std::string{};
    const auto p = eight_kinds();
    s->allow("k", p, with_member(0, member));
    look().must({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < 15; ++i)
        s->allow("k", p, with_member(i, member));
    BOOST_TEST(check_calls(look()) == 15);
    BOOST_TEST(calls_of(look(), "eval") == 0);
    const auto names = look().keys();
    BOOST_TEST(names.size() == 3U); // the value, the log, the sketch
}

BOOST_DATA_TEST_CASE(P3_a_refusal_by_any_kind_leaves_every_key_as_it_was, every_redis()) {
    auto member = std::string{};
    for (std::size_t least = 0; least < 8; ++least) {
        auto s = open_store(sample);
        const auto p = eight_kinds(least);
        for (int i = 0; i < 10; ++i)
            s->allow("k", p, with_member(i, member));
        const auto before = take_picture();
        for (int i = 10; i < 14; ++i) {
            BOOST_TEST(s->allow("k", p, with_member(i, member)).outcome == outcome::denied);
            s->peek("k", p, with_member(i, member));
        }
        BOOST_TEST((take_picture() == before), p[least].name());
    }
}

BOOST_DATA_TEST_CASE(a_rule_that_only_watches_is_charged_and_refuses_nobody_of_any_kind,
                     every_store()) {
    auto s = open_store(sample);
    const policy p{"p",
                   gcra(1, 1h).burst(5).named("real"),
                   token_bucket(1, 1, 1h).stepwise().named("a").shadow(),
                   fixed_window(1, 1h).named("b").shadow(),
                   sliding_window(1, 1h).named("c").shadow(),
                   sliding_log(1, 1h).named("d").shadow(),
                   distinct(1, 1h).named("e").shadow()};
    for (int i = 0; i < 5; ++i) {
        const auto member = std::to_string(i);
        const auto d = s->allow("k", p, {.member = member, .now = at(i)});
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.limiting_rule == 0);
        for (std::size_t r = 1; r < 6; ++r)
            BOOST_TEST(d.rules[r].balance == -i, p[r].name());
    }
    BOOST_TEST(s->allow("k", p, {.member = "x", .now = at(5)}).limiting_rule == 0);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

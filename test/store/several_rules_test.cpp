// SPDX-License-Identifier: BSL-1.0
//
// Policies of several rules: all or nothing, the limiting rule, shadow rules, and rules whose
// numbers change while states live.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

BOOST_AUTO_TEST_SUITE(several_rules)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy both{"both", gcra(1, 1s).burst(10).named("quick"),
                  token_bucket(3, 1, 1min).named("slow")};

BOOST_DATA_TEST_CASE(P7_a_refused_call_charges_none_of_the_rules, every_store()) {
    auto s = open_store(sample);
    s->allow("k", both, {.cost = 3, .now = at(0)});
    for (int i = 0; i < 3; ++i) {
        const auto d = s->allow("k", both, {.now = at(0)});
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST(d.rules[0].balance == 7);
        BOOST_TEST(d.rules[1].balance == 0);
    }
    BOOST_TEST(s->allow("k", both, {.cost = 4, .now = at(0)}).outcome == outcome::never);
    BOOST_TEST(s->peek("k", both, {.now = at(0)}).rules[0].balance == 7);
}

BOOST_DATA_TEST_CASE(of_a_refusal_the_rule_with_the_longest_wait_binds, every_unpacked()) {
    auto s = open_store(sample);
    s->charge("k", both, {.cost = 11, .now = at(0)});
    const auto d = s->allow("k", both, {.now = at(0)});
    BOOST_TEST(d.limiting_rule == 1);
    BOOST_TEST(d.limit == 3);
    BOOST_TEST(d.retry_after.count() == 9 * 60 * second);
    BOOST_TEST(d.rules[0].retry_after.count() == 2 * second);
    BOOST_TEST(d.rules[1].retry_after.count() == 9 * 60 * second);
    const auto never = s->allow("k", both, {.cost = 4, .now = at(0)});
    BOOST_TEST(never.outcome == outcome::never);
    BOOST_TEST(never.limiting_rule == 1);
}

BOOST_DATA_TEST_CASE(of_a_grant_the_rule_with_the_least_remaining_binds, every_store()) {
    auto s = open_store(sample);
    const auto d = s->allow("k", both, {.now = at(0)});
    BOOST_TEST(d.limiting_rule == 1);
    BOOST_TEST(d.limit == 3);
    BOOST_TEST(d.remaining == 2);
    BOOST_TEST(d.reset_after.count() == 60 * second);
    const policy alike{"alike", gcra(1, 1s).burst(3).named("a"), gcra(1, 1min).burst(3).named("b"),
                       gcra(1, 1min).burst(3).named("c")};
    BOOST_TEST(s->allow("k", alike, {.now = at(0)}).limiting_rule ==
               1); // the longest recovery, the first
}

BOOST_DATA_TEST_CASE(a_partial_grant_is_the_least_that_fits_over_the_rules, every_store()) {
    auto s = open_store(sample);
    const auto d = s->allow("k", both, {.cost = 8, .at_least = 1, .now = at(0)});
    BOOST_TEST(d.granted == 3);
    BOOST_TEST(d.rules[0].balance == 7);
    BOOST_TEST(d.rules[1].balance == 0);
}

BOOST_DATA_TEST_CASE(eight_rules_are_checked_and_charged_together, every_store()) {
    auto s = open_store(sample);
    const auto r = [](std::string_view name, int burst) {
        return gcra(1, 1s).burst(burst).named(name);
    };
    const policy eight{"eight",   r("a", 9), r("b", 8), r("c", 7), r("d", 6),
                       r("e", 5), r("f", 4), r("g", 3), r("h", 2)};
    const auto d = s->allow("k", eight, {.now = at(0)});
    BOOST_TEST_REQUIRE(d.rules.size() == 8U);
    for (std::size_t i = 0; i < 8; ++i)
        BOOST_TEST(d.rules[i].balance == 8 - static_cast<int>(i));
    BOOST_TEST(d.limiting_rule == 7);
    s->allow("k", eight, {.now = at(0)});
    BOOST_TEST(s->allow("k", eight, {.now = at(0)}).outcome == outcome::denied);
    BOOST_TEST(s->peek("k", eight, {.now = at(0)}).rules[0].balance == 7);
}

BOOST_DATA_TEST_CASE(a_shadow_rule_is_charged_and_reported_and_never_refuses_nor_binds,
                     every_unpacked()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(10).named("real"),
                   gcra(1, 1min).burst(2).named("tried").shadow()};
    for (int i = 0; i < 5; ++i) {
        const auto d = s->allow("k", p, {.now = at(0)});
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.limiting_rule == 0);
        BOOST_TEST(d.rules[1].balance == 1 - i);
    }
    const auto more_than_it_holds = s->allow("k", p, {.cost = 3, .now = at(0)});
    BOOST_TEST(more_than_it_holds.outcome == outcome::allowed);
    BOOST_TEST((more_than_it_holds.rules[1].retry_after == never_again));
    const auto refused = s->allow("k", p, {.cost = 3, .now = at(0)});
    BOOST_TEST(refused.outcome == outcome::denied);
    BOOST_TEST(refused.limiting_rule == 0);
    BOOST_TEST(refused.rules[1].balance == -6);
}

BOOST_DATA_TEST_CASE(changed_numbers_neither_forgive_nor_lock_out, every_store()) {
    auto s = open_store(sample);
    const policy before{"p", gcra(1, 1s).burst(10)};
    const policy larger{"p", gcra(2, 1s).burst(20)};
    const policy smaller{"p", gcra(1, 1min).burst(2)};
    s->allow("k", before, {.cost = 7, .now = at(0)});
    BOOST_TEST(s->peek("k", larger, {.now = at(0)}).remaining == 13);
    BOOST_TEST(s->peek("k", larger, {.now = at(second)}).remaining == 15);
    // Seven tokens of debt would take seven minutes: never more than the new rule's two.
    const auto d = s->allow("k", smaller, {.now = at(0)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.reset_after.count() == 2 * 60 * second);
    // The denial has left the state as it was.
    BOOST_TEST(s->peek("k", before, {.now = at(0)}).remaining == 3);
}

BOOST_DATA_TEST_CASE(a_begun_token_counts_whole_when_numbers_change, every_store()) {
    auto s = open_store(sample);
    const policy before{"p", gcra(1, 1s).burst(10)};
    const policy after{"p", gcra(1, 2s).burst(10)};
    s->allow("k", before, {.cost = 3, .now = at(0)});
    BOOST_TEST(s->peek("k", after, {.now = at(second / 2)}).reset_after.count() ==
               6 * second - second / 2);
}

BOOST_DATA_TEST_CASE(rules_keep_their_state_when_others_come_go_and_change_places, every_store()) {
    auto s = open_store(sample);
    const auto a = gcra(1, 1min).burst(10).named("a");
    const auto b = gcra(1, 1min).burst(20).named("b");
    const auto c = gcra(1, 1min).burst(30).named("c");
    s->allow("k", policy{"p", a, b}, {.cost = 4, .now = at(0)});
    const auto turned = s->allow("k", policy{"p", b, a}, {.now = at(0)});
    BOOST_TEST(turned.rules[0].balance == 15);
    BOOST_TEST(turned.rules[1].balance == 5);
    const auto grown = s->allow("k", policy{"p", c, a, b}, {.now = at(0)});
    BOOST_TEST(grown.rules[0].balance == 29);
    BOOST_TEST(grown.rules[1].balance == 4);
    BOOST_TEST(grown.rules[2].balance == 14);
    const auto shrunk = s->allow("k", policy{"p", c}, {.now = at(0)});
    BOOST_TEST(shrunk.rules[0].balance == 28);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

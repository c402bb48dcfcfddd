// SPDX-License-Identifier: BSL-1.0
//
// The charge and the decision of each verb.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

BOOST_AUTO_TEST_SUITE(verbs)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

/// One a second, ten at once.
const policy ten{"ten", gcra(1, 1s).burst(10)};

BOOST_DATA_TEST_CASE(allow_charges_its_cost_and_reports_what_is_left, every_store()) {
    auto s = open_store(sample);
    const auto d = s->allow("k", ten, {.cost = 4, .now = at(0)});
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST(d.granted == 4);
    BOOST_TEST(d.limit == 10);
    BOOST_TEST(d.remaining == 6);
    BOOST_TEST(d.retry_after.count() == 0);
    BOOST_TEST(d.reset_after.count() == 4 * second);
    BOOST_TEST((d.source == decision_source::store));
    BOOST_TEST((d.server_time == at(0)));
    BOOST_TEST_REQUIRE(d.rules.size() == 1U);
    BOOST_TEST(d.rules[0].balance == 6);
    BOOST_TEST(d.rules[0].resolution.count() == 1);
}

BOOST_DATA_TEST_CASE(a_refusal_charges_nothing_and_says_when_to_come_back, every_store()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 8, .now = at(0)});
    for (int i = 0; i < 3; ++i) {
        const auto d = s->allow("k", ten, {.cost = 3, .now = at(1)});
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST(d.granted == 0);
        BOOST_TEST(d.remaining == 2);
        BOOST_TEST(d.retry_after.count() == second - 1);
        BOOST_TEST(d.reset_after.count() == 8 * second - 1);
    }
    BOOST_TEST(s->allow("k", ten, {.cost = 2, .now = at(1)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(a_cost_above_the_limit_is_never_allowed_and_the_numbers_are_true,
                     every_store()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 3, .now = at(0)});
    const auto d = s->allow("k", ten, {.cost = 11, .now = at(0)});
    BOOST_TEST(d.outcome == outcome::never);
    BOOST_TEST((d.retry_after == never_again));
    BOOST_TEST(d.limit == 10);
    BOOST_TEST(d.remaining == 7);
    BOOST_TEST(d.reset_after.count() == 3 * second);
}

BOOST_DATA_TEST_CASE(a_cost_of_zero_is_allowed_until_the_balance_is_negative, every_unpacked()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 10, .now = at(0)});
    BOOST_TEST(s->allow("k", ten, {.cost = 0, .now = at(0)}).outcome == outcome::allowed);
    s->charge("k", ten, {.cost = 2, .now = at(0)});
    const auto d = s->allow("k", ten, {.cost = 0, .now = at(0)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == 2 * second);
    BOOST_TEST(s->allow("k", ten, {.cost = 0, .now = at(2 * second)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(peek_gives_the_verdict_of_allow_and_changes_nothing, every_store()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 6, .now = at(0)});
    for (int i = 0; i < 2; ++i) {
        const auto yes = s->peek("k", ten, {.cost = 4, .now = at(0)});
        BOOST_TEST(yes.outcome == outcome::allowed);
        BOOST_TEST(yes.granted == 4);
        BOOST_TEST(yes.remaining == 4); // as it is, not as it would be
        BOOST_TEST(yes.reset_after.count() == 6 * second);
        const auto no = s->peek("k", ten, {.cost = 5, .now = at(0)});
        BOOST_TEST(no.outcome == outcome::denied);
        BOOST_TEST(no.retry_after.count() == second);
        BOOST_TEST(s->peek("k", ten, {.cost = 11, .now = at(0)}).outcome == outcome::never);
    }
}

BOOST_DATA_TEST_CASE(P6_a_partial_grant_charges_what_it_grants, every_store()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 7, .now = at(0)});
    const auto some = s->allow("k", ten, {.cost = 5, .at_least = 2, .now = at(0)});
    BOOST_TEST(some.outcome == outcome::allowed);
    BOOST_TEST(some.granted == 3);
    BOOST_TEST(some.remaining == 0);
    BOOST_TEST(some.reset_after.count() == 10 * second);
    const auto none = s->allow("k", ten, {.cost = 5, .at_least = 2, .now = at(second)});
    BOOST_TEST(none.outcome == outcome::denied);
    BOOST_TEST(none.granted == 0);
    BOOST_TEST(none.retry_after.count() == second); // until two fit
    const auto any = s->allow("k", ten, {.cost = 5, .at_least = 0, .now = at(second)});
    BOOST_TEST(any.granted == 1);
}

BOOST_DATA_TEST_CASE(a_partial_grant_may_ask_for_more_than_the_limit, every_store()) {
    auto s = open_store(sample);
    const auto d =
        s->allow("k", ten, {.cost = limits::max_exact_integer, .at_least = 10, .now = at(0)});
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST(d.granted == 10);
    BOOST_TEST(s->allow("k", ten, {.cost = 12, .at_least = 11, .now = at(0)}).outcome ==
               outcome::never);
}

BOOST_DATA_TEST_CASE(charge_takes_more_than_there_is_and_answers_as_a_peek_of_nothing,
                     every_unpacked()) {
    auto s = open_store(sample);
    const auto d = s->charge("k", ten, {.cost = 12, .now = at(0)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.granted == 0);
    BOOST_TEST(d.remaining == 0);
    BOOST_TEST(d.rules[0].balance == -2);
    BOOST_TEST(d.retry_after.count() == 2 * second);
    BOOST_TEST(d.reset_after.count() == 12 * second);
    // Half a token below -1 is -2: a balance is rounded down, not towards zero.
    BOOST_TEST(s->peek("k", ten, {.now = at(second / 2)}).rules[0].balance == -2);
    const auto later = s->charge("k", ten, {.cost = 1, .now = at(4 * second)});
    BOOST_TEST(later.outcome == outcome::allowed);
    BOOST_TEST(later.remaining == 1);
}

BOOST_DATA_TEST_CASE(charge_stops_at_366_days, every_unpacked()) {
    auto s = open_store(sample);
    for (int i = 0; i < 2; ++i) {
        const auto d = s->charge("k", ten, {.cost = limits::max_exact_integer, .now = at(0)});
        BOOST_TEST(d.reset_after.count() == limits::max_repayment.count());
    }
}

BOOST_DATA_TEST_CASE(P15_a_refund_never_lifts_remaining_above_the_limit, every_store()) {
    auto s = open_store(sample);
    BOOST_TEST(s->refund("new", ten, {.cost = 5, .now = at(0)}).remaining == 10);
    s->allow("k", ten, {.cost = 6, .now = at(0)});
    BOOST_TEST(s->refund("k", ten, {.cost = 2, .now = at(0)}).remaining == 6);
    for (const auto cost : {std::int64_t{5}, std::int64_t{1} << 31, limits::max_exact_integer}) {
        const auto d = s->refund("k", ten, {.cost = cost, .now = at(0)});
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.granted == 0);
        BOOST_TEST(d.remaining == 10);
        BOOST_TEST(d.reset_after.count() == 0);
    }
    BOOST_TEST(s->allow("k", ten, {.cost = 11, .now = at(0)}).outcome == outcome::never);
}

BOOST_DATA_TEST_CASE(reset_gives_back_the_whole_limit_of_that_key_only, every_store()) {
    auto s = open_store(sample);
    s->charge("k", ten, {.cost = 50, .now = at(0)});
    s->allow("other", ten, {.cost = 10, .now = at(0)});
    const auto d = s->reset("k", ten, {.now = at(0)});
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST(d.remaining == 10);
    BOOST_TEST(s->allow("k", ten, {.cost = 10, .now = at(0)}).outcome == outcome::allowed);
    BOOST_TEST(s->allow("other", ten, {.now = at(0)}).outcome == outcome::denied);
}

BOOST_DATA_TEST_CASE(policies_of_different_names_do_not_share_keys, every_store()) {
    auto s = open_store(sample);
    const policy other{"other", gcra(1, 1s).burst(10)};
    s->allow("k", ten, {.cost = 10, .now = at(0)});
    BOOST_TEST(s->allow("k", other, {.cost = 10, .now = at(0)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(without_a_clock_of_ones_own_the_stores_clock_counts, every_store()) {
    auto s = open_store(sample, 0ms);
    const auto before = std::chrono::system_clock::now() - 2s;
    const auto d = s->allow("k", ten, {.cost = 10});
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST((d.server_time > before));
    BOOST_TEST((d.server_time < std::chrono::system_clock::now() + 2s));
    BOOST_TEST(s->allow("k", ten, {.cost = 10}).outcome == outcome::denied);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

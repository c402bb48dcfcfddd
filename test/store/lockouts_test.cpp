// SPDX-License-Identifier: BSL-1.0
//
// Denials without rules: prevent_duplicate, block and once.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

BOOST_AUTO_TEST_SUITE(lockouts)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy ten{"ten", gcra(1, 1s).burst(10)};
const policy no_twins = ten.prevent_duplicate(5s);

BOOST_DATA_TEST_CASE(a_second_call_soon_after_a_granted_one_is_a_duplicate, every_store()) {
    auto s = open_store(sample);
    BOOST_TEST(s->allow("k", no_twins, {.now = at(0)}).remaining == 9);
    const auto d = s->allow("k", no_twins, {.now = at(second)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST((d.reason == denial_reason::duplicate));
    BOOST_TEST(d.retry_after.count() == 4 * second);
    BOOST_TEST(d.limit == 0);
    BOOST_TEST(d.rules[0].balance == 10);
    BOOST_TEST(s->allow("k", no_twins, {.now = at(5 * second - 1)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", no_twins, {.now = at(5 * second)}).outcome == outcome::allowed);
    BOOST_TEST(s->allow("other", no_twins, {.now = at(second)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(only_grants_start_the_time_of_duplicates, every_store()) {
    auto s = open_store(sample);
    const policy p = policy{"p", gcra(1, 1min).burst(3)}.prevent_duplicate(5s);
    s->peek("k", p, {.now = at(0)});
    s->charge("k", p, {.cost = 3, .now = at(0)});
    const auto d = s->allow("k", p, {.now = at(0)});
    BOOST_TEST((d.reason == denial_reason::rule));
    BOOST_TEST(s->allow("k", p, {.cost = 0, .now = at(0)}).outcome == outcome::allowed);
    // A call of cost 0 was granted, so the next one is a duplicate: it always costs 1.
    BOOST_TEST((s->allow("k", p, {.cost = 0, .now = at(0)}).reason == denial_reason::duplicate));
}

BOOST_DATA_TEST_CASE(a_refund_does_not_end_the_time_of_duplicates_and_a_reset_does, every_store()) {
    auto s = open_store(sample);
    s->allow("k", no_twins, {.cost = 3, .now = at(0)});
    BOOST_TEST(s->refund("k", no_twins, {.cost = 3, .now = at(0)}).rules[0].balance == 10);
    BOOST_TEST((s->allow("k", no_twins, {.now = at(1)}).reason == denial_reason::duplicate));
    s->reset("k", no_twins, {.now = at(1)});
    BOOST_TEST(s->allow("k", no_twins, {.now = at(1)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(what_refuses_for_longer_binds, every_store()) {
    auto s = open_store(sample);
    const policy p = policy{"p", gcra(1, 1min).burst(3)}.prevent_duplicate(5s);
    s->allow("k", p, {.cost = 3, .now = at(0)});
    const auto d = s->allow("k", p, {.now = at(0)});
    BOOST_TEST((d.reason == denial_reason::rule));
    BOOST_TEST(d.retry_after.count() == 60 * second);
    const auto hour = s->block("k", p, 1h, {.now = at(0)});
    BOOST_TEST((hour.reason == denial_reason::block));
    BOOST_TEST(hour.retry_after.count() == 3600 * second);
    BOOST_TEST(s->allow("k", p, {.cost = 4, .now = at(0)}).outcome == outcome::never);
}

BOOST_DATA_TEST_CASE(a_shadow_policy_refuses_no_duplicate_and_no_blocked_key, every_store()) {
    auto s = open_store(sample);
    const auto p = no_twins.shadow();
    s->allow("k", p, {.now = at(0)});
    s->block("k", p, 1h, {.now = at(0)});
    BOOST_TEST(s->allow("k", p, {.now = at(0)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(duplicates_are_prevented_beside_every_kind_of_rule, every_store()) {
    auto s = open_store(sample);
    const policy p = policy{"p", sliding_log(5, 1min), distinct(5, 1min), fixed_window(5, 1min)}
                         .prevent_duplicate(5s);
    BOOST_TEST(s->allow("k", p, {.member = "a", .now = at(0)}).outcome == outcome::allowed);
    const auto d = s->allow("k", p, {.member = "b", .now = at(1)});
    BOOST_TEST((d.reason == denial_reason::duplicate));
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(d.rules[i].balance == 4);
}

BOOST_DATA_TEST_CASE(a_changed_time_of_duplicates_locks_out_no_longer_than_the_new_one,
                     every_store()) {
    auto s = open_store(sample);
    s->allow("k", ten.prevent_duplicate(1h), {.now = at(0)});
    BOOST_TEST(s->peek("k", no_twins, {.now = at(second)}).retry_after.count() == 4 * second);
    BOOST_TEST(s->peek("k", ten, {.now = at(second)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(a_blocked_key_is_refused_until_the_time_is_over, every_unpacked()) {
    auto s = open_store(sample);
    const auto d = s->block("k", ten, 10s, {.now = at(0)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST((d.reason == denial_reason::block));
    BOOST_TEST(d.retry_after.count() == 10 * second);
    const auto seen = s->allow("k", ten, {.now = at(4 * second)});
    BOOST_TEST((seen.reason == denial_reason::block));
    BOOST_TEST(seen.retry_after.count() == 6 * second);
    BOOST_TEST(seen.rules[0].balance == 10);
    BOOST_TEST(s->allow("k", ten, {.cost = 0, .now = at(second)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", ten, {.now = at(10 * second - 1)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("k", ten, {.now = at(10 * second)}).outcome == outcome::allowed);
    BOOST_TEST(s->allow("other", ten, {.now = at(0)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(a_longer_block_stays_and_a_reset_lifts_it, every_store()) {
    auto s = open_store(sample);
    s->block("k", ten, 10s, {.now = at(0)});
    BOOST_TEST(s->block("k", ten, 3s, {.now = at(0)}).retry_after.count() == 10 * second);
    BOOST_TEST(s->block("k", ten, 0s, {.now = at(0)}).retry_after.count() == 10 * second);
    BOOST_TEST(s->block("k", ten, 30s, {.now = at(second)}).retry_after.count() == 30 * second);
    BOOST_TEST(s->reset("k", ten, {.now = at(2 * second)}).remaining == 10);
    BOOST_TEST(s->allow("k", ten, {.cost = 10, .now = at(2 * second)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(charges_and_refunds_count_while_a_key_is_blocked, every_unpacked()) {
    auto s = open_store(sample);
    s->block("k", ten, 1h, {.now = at(0)});
    BOOST_TEST(s->charge("k", ten, {.cost = 4, .now = at(0)}).rules[0].balance == 6);
    BOOST_TEST(s->refund("k", ten, {.cost = 1, .now = at(0)}).rules[0].balance == 7);
    BOOST_TEST((s->refund("k", ten, {.cost = 9, .now = at(0)}).reason == denial_reason::block));
    BOOST_TEST((s->peek("k", ten, {.now = at(second)}).reason == denial_reason::block));
}

BOOST_DATA_TEST_CASE(any_kind_of_rule_can_be_blocked, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(5, 1min), distinct(5, 1min), calendar(5, calendar_unit::day)};
    s->allow("k", p, {.member = "a", .now = at(0)});
    s->block("k", p, 10s, {.now = at(0)});
    BOOST_TEST((s->allow("k", p, {.member = "a", .now = at(1)}).reason == denial_reason::block));
    const auto d = s->allow("k", p, {.member = "a", .now = at(10 * second)});
    BOOST_TEST(d.rules[0].balance == 3);
    BOOST_TEST(d.rules[1].balance == 4);
}

BOOST_DATA_TEST_CASE(lengths_of_blocks_have_bounds, every_unpacked()) {
    auto s = open_store(sample);
    const auto longest = limits::max_recovery;
    BOOST_TEST((s->ask_block("k", ten, -1us, {.now = at(0)}).ec == errc::invalid_argument));
    BOOST_TEST(
        (s->ask_block("k", ten, longest + 1us, {.now = at(0)}).ec == errc::invalid_argument));
    BOOST_TEST((s->ask_once("k", longest + 1us, {.now = at(0)}).ec == errc::invalid_argument));
    BOOST_TEST((s->ask_once("k", -1us, {.now = at(0)}).ec == errc::invalid_argument));
    const auto d = s->block("k", ten, longest, {.now = at(0)});
    BOOST_TEST((d.retry_after == longest));
    // A clock that was set back makes it no longer.
    BOOST_TEST((s->allow("k", ten, {.now = at(-second)}).retry_after == longest));
}

BOOST_DATA_TEST_CASE(P4_a_block_ends_with_its_time_and_a_second, every_redis()) {
    auto s = open_store(sample, 0ms);
    const auto d = s->block("k", ten, 10s);
    const auto end = (d.server_time + 10s).time_since_epoch().count() / 1000;
    const auto expires = look().must({"PEXPIRETIME", name_of(ten, "k")}).integer;
    BOOST_TEST(expires >= end);
    BOOST_TEST(expires <= end + 1000);
    const auto before = take_picture();
    s->allow("k", ten);
    s->block("k", ten, 5s);
    BOOST_TEST((take_picture() == before));
}

BOOST_DATA_TEST_CASE(of_those_who_name_an_id_the_first_is_allowed, every_store()) {
    auto s = open_store(sample);
    const auto first = s->once("order 17", 10s, {.now = at(0)});
    BOOST_TEST(first.outcome == outcome::allowed);
    BOOST_TEST(first.granted == 1);
    const auto d = s->once("order 17", 10s, {.now = at(4 * second)});
    BOOST_TEST(first.granted == 1);
    BOOST_TEST(d.granted == 0);
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST((d.reason == denial_reason::duplicate));
    BOOST_TEST(d.retry_after.count() == 6 * second);
    BOOST_TEST(s->once("order 18", 10s, {.now = at(4 * second)}).outcome == outcome::allowed);
    BOOST_TEST(s->once("order 17", 10s, {.now = at(10 * second - 1)}).outcome == outcome::denied);
    BOOST_TEST(s->once("order 17", 10s, {.now = at(10 * second)}).outcome == outcome::allowed);
}

BOOST_DATA_TEST_CASE(ids_are_apart_from_keys_and_any_bytes, every_store()) {
    auto s = open_store(sample);
    s->block("k", ten, 1h, {.now = at(0)});
    for (const auto& id : {std::string{}, std::string{"k"}, std::string("\0\r\n}{", 5),
                           std::string(257, 'x'), std::string(limits::max_key_bytes, 'y')}) {
        BOOST_TEST(s->once(id, 1h, {.now = at(0)}).outcome == outcome::allowed);
        BOOST_TEST(s->once(id, 1h, {.now = at(0)}).outcome == outcome::denied);
    }
    const auto too_long = std::string(limits::max_key_bytes + 1, 'y');
    BOOST_TEST((s->ask_once(too_long, 1h, {.now = at(0)}).ec == errc::invalid_key));
}

BOOST_DATA_TEST_CASE(two_limiters_on_one_server_agree_who_was_first, every_redis()) {
    auto one = open_store(sample);
    BOOST_TEST(one->once("id", 1h, {.now = at(0)}).outcome == outcome::allowed);
    auto other = join_store(sample);
    const auto d = other->once("id", 1h, {.now = at(second)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == 3599 * second);
}

BOOST_DATA_TEST_CASE(who_comes_second_leaves_the_id_as_it_was, every_redis()) {
    auto s = open_store(sample, 0ms);
    s->once("id", 10s);
    const auto before = take_picture();
    BOOST_TEST(before.size() == 1U);
    s->once("id", 1h);
    BOOST_TEST((take_picture() == before));
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

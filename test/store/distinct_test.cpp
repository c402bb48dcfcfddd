// SPDX-License-Identifier: BSL-1.0
//
// Distinct members: the same numbers on every store, and sketches that a denial does not change.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(distinct_members)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy three{"three", distinct(3, 1min)};

/// A minute begins then.
constexpr auto minute = std::int64_t{40} * second;

BOOST_DATA_TEST_CASE(at_most_the_limit_of_different_members_are_let_in, every_store()) {
    auto s = open_store(sample);
    auto left = std::int64_t{3};
    for (const auto* member : {"a", "b", "c"}) {
        const auto d = s->allow("k", three, {.member = member, .now = at(minute)});
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.remaining == --left);
        BOOST_TEST(d.reset_after.count() == 60 * second);
    }
    const auto d = s->allow("k", three, {.member = "d", .now = at(minute + second)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == 59 * second);
    BOOST_TEST(s->peek("k", three, {.member = "d", .now = at(minute)}).outcome == outcome::denied);
    BOOST_TEST(s->allow("other", three, {.member = "d", .now = at(minute)}).remaining == 2);
}

BOOST_DATA_TEST_CASE(who_is_known_goes_on_being_allowed_whatever_it_costs, every_store()) {
    auto s = open_store(sample);
    for (const auto* member : {"a", "b", "c"})
        s->allow("k", three, {.member = member, .now = at(minute)});
    for (int i = 0; i < 3; ++i)
        for (const auto* member : {"c", "a", "b"})
            BOOST_TEST(
                s->allow("k", three, {.cost = 3, .member = member, .now = at(minute)}).outcome ==
                outcome::allowed);
    BOOST_TEST(s->peek("k", three, {.member = "a", .now = at(minute)}).outcome == outcome::allowed);
    BOOST_TEST(s->peek("k", three, {.member = "d", .now = at(minute)}).outcome == outcome::denied);
}

BOOST_DATA_TEST_CASE(a_window_of_members_ends_for_all_at_once, every_store()) {
    auto s = open_store(sample);
    for (const auto* member : {"a", "b", "c"})
        s->allow("k", three, {.member = member, .now = at(minute)});
    const auto last = s->allow("k", three, {.member = "d", .now = at(minute + 60 * second - 1)});
    BOOST_TEST(last.retry_after.count() == 1);
    const auto next = s->allow("k", three, {.member = "d", .now = at(minute + 60 * second)});
    BOOST_TEST(next.outcome == outcome::allowed);
    BOOST_TEST(next.remaining == 2);
    BOOST_TEST(s->allow("k", three, {.member = "a", .now = at(minute + 60 * second)}).remaining ==
               1);
}

BOOST_DATA_TEST_CASE(charge_lets_in_more_than_the_limit_and_reset_forgets_them, every_store()) {
    auto s = open_store(sample);
    for (int i = 0; i < 5; ++i)
        s->charge("k", three, {.member = std::to_string(i), .now = at(minute)});
    const auto d = s->peek("k", three, {.cost = 0, .member = "x", .now = at(minute)});
    BOOST_TEST(d.rules[0].balance == -2);
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(s->refund("k", three, {.cost = 3, .now = at(minute)}).rules[0].balance == -2);
    BOOST_TEST(s->reset("k", three, {.now = at(minute)}).remaining == 3);
    BOOST_TEST(s->allow("k", three, {.member = "x", .now = at(minute)}).remaining == 2);
}

BOOST_DATA_TEST_CASE(without_a_member_a_call_is_an_invalid_argument, every_store()) {
    auto s = open_store(sample);
    const policy mixed{"mixed", gcra(5, 1s), distinct(3, 1min)};
    for (const auto& p : {three, mixed})
        for (const auto verb : {asked_verb::allow, asked_verb::peek, asked_verb::charge})
            BOOST_TEST((s->ask(verb, "k", p, {.now = at(minute)}).ec == errc::invalid_argument));
    const auto long_one = std::string(limits::max_key_bytes + 1, 'x');
    BOOST_TEST((s->ask(asked_verb::allow, "k", three, {.member = long_one, .now = at(minute)}).ec ==
                errc::invalid_argument));
    BOOST_TEST(s->peek("k", mixed, {.member = "a", .now = at(minute)}).rules[0].balance == 5);
}

BOOST_DATA_TEST_CASE(members_are_any_bytes_and_of_any_length, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", distinct(100, 1min)};
    const auto longest = std::string(limits::max_key_bytes, 'x');
    const auto all = std::vector<std::string>{"",
                                              std::string("\0", 1),
                                              "\r\n",
                                              "*1\r\n$8\r\nFLUSHALL\r\n",
                                              std::string(256, 'y'),
                                              std::string(257, 'y'),
                                              std::string(258, 'y'),
                                              longest,
                                              longest.substr(1) + 'y'};
    auto left = std::int64_t{100};
    for (const auto& member : all)
        BOOST_TEST(s->allow("k", p, {.member = member, .now = at(minute)}).remaining == --left);
    for (const auto& member : all)
        BOOST_TEST(s->allow("k", p, {.member = member, .now = at(minute)}).remaining == left);
}

BOOST_AUTO_TEST_CASE(every_store_says_the_same_number_for_the_same_members) {
    const policy p{"p", distinct(2000, 1min)};
    auto expected = std::vector<std::int64_t>{};
    for (const auto kind : every_store()) {
        auto s = open_store(kind);
        auto said = std::vector<std::int64_t>{};
        for (int i = 0; i < 3000; ++i)
            said.push_back(s->allow("k", p, {.member = std::to_string(i), .now = at(minute)})
                               .rules[0]
                               .balance);
        if (expected.empty())
            expected = said;
        BOOST_TEST((said == expected), kind);
        // Allowed up to the limit, as the sketch counts: within a few hundredths.
        BOOST_TEST(s->allow("k", p, {.member = "new", .now = at(minute)}).outcome ==
                   outcome::denied);
    }
}

BOOST_DATA_TEST_CASE(two_rules_count_the_same_members_in_their_own_windows, every_store()) {
    auto s = open_store(sample);
    const policy p{"p", distinct(2, 1min).named("minute"), distinct(3, 1h).named("hour")};
    s->allow("k", p, {.member = "a", .now = at(minute)});
    s->allow("k", p, {.member = "b", .now = at(minute)});
    BOOST_TEST(s->allow("k", p, {.member = "c", .now = at(minute)}).limiting_rule == 0);
    const auto next = minute + 60 * second;
    const auto third = s->allow("k", p, {.member = "c", .now = at(next)});
    BOOST_TEST(third.rules[0].balance == 1);
    BOOST_TEST(third.rules[1].balance == 0);
    const auto fourth = s->allow("k", p, {.member = "d", .now = at(next)});
    BOOST_TEST(fourth.outcome == outcome::denied);
    BOOST_TEST(fourth.limiting_rule == 1);
    // The denial counted the member nowhere.
    BOOST_TEST(fourth.rules[0].balance == 1);
    BOOST_TEST(s->allow("k", p, {.member = "a", .now = at(next)}).rules[0].balance == 0);
}

BOOST_DATA_TEST_CASE(P3_a_refused_member_or_a_peek_leaves_sketch_and_end_as_they_were,
                     every_redis()) {
    for (const auto now : {std::optional{at(minute)}, std::optional<time_point>{}}) {
        auto s = open_store(sample, now ? for_supplied_clocks : 0h);
        const policy p{"p", distinct(3, 8760h), gcra(1, 1min).burst(20)};
        for (const auto* member : {"a", "b", "c"})
            s->allow("k", p, {.member = member, .now = now});
        const auto before = take_picture();
        BOOST_TEST(before.size() == 2U);
        for (int i = 0; i < 3; ++i) {
            const auto member = "new " + std::to_string(i);
            BOOST_TEST(s->allow("k", p, {.member = member, .now = now}).outcome == outcome::denied);
            s->peek("k", p, {.member = member, .now = now});
            s->peek("k", p, {.member = "a", .now = now});
            s->allow("k", p, {.cost = 0, .member = member, .now = now});
            s->allow("k", p, {.cost = 21, .member = member, .now = now});
        }
        BOOST_TEST((take_picture() == before));
    }
}

BOOST_DATA_TEST_CASE(P3_a_member_that_another_rule_refuses_is_not_counted, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", distinct(3, 1min), gcra(1, 1min).burst(1)};
    s->allow("k", p, {.member = "a", .now = at(minute)});
    const auto before = take_picture();
    BOOST_TEST(s->allow("k", p, {.member = "b", .now = at(minute)}).limiting_rule == 1);
    BOOST_TEST((take_picture() == before));
}

BOOST_DATA_TEST_CASE(P3_a_member_that_fails_at_one_rule_is_counted_by_none, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", distinct(9, 1min).named("minute"), distinct(9, 1h).named("hour")};
    s->allow("k", p, {.member = "a", .now = at(minute)});
    const auto hour = sketch_name_of(p, "k", "hour");
    look().must({"DEL", hour});
    look().must({"RPUSH", hour, "somebody's"});
    const auto before = take_picture();
    for (const auto verb : {asked_verb::allow, asked_verb::peek, asked_verb::charge}) {
        const auto got = s->ask(verb, "k", p, {.member = "b", .now = at(minute)});
        BOOST_TEST((got.ec == errc::key_conflict), got.ec.message());
        BOOST_TEST((take_picture() == before), "verb " << int(verb));
    }
}

BOOST_DATA_TEST_CASE(P3_a_peek_of_a_new_key_makes_no_sketch, every_redis()) {
    auto s = open_store(sample);
    s->peek("k", three, {.member = "a", .now = at(minute)});
    s->allow("k", three, {.cost = 4, .member = "a", .now = at(minute)});
    s->refund("k", three, {.cost = 4, .now = at(minute)});
    s->reset("k", three, {.now = at(minute)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(P4_a_sketch_ends_with_its_window_and_a_second, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", distinct(50, 10s)};
    for (int i = 0; i < 20; ++i) {
        const auto d = s->allow("k", p, {.member = std::to_string(i)});
        const auto end = (d.server_time + d.reset_after).time_since_epoch().count() / 1000;
        for (const auto& name : {name_of(p, "k"), sketch_name_of(p, "k")}) {
            const auto expires = look().must({"PEXPIRETIME", name}).integer;
            BOOST_TEST(expires >= end);
            BOOST_TEST(expires <= end + 1000);
        }
    }
    s->reset("k", p);
    BOOST_TEST(look().dbsize() == 0);
}

/// Independent of which call finds the other window first: of a known member, alone or among
/// others, of a new one, or of a denied one.
BOOST_DATA_TEST_CASE(a_sketch_lives_on_with_a_window_that_got_longer, every_redis()) {
    const policy seconds{"p", distinct(2, 5s)};
    const policy year{"p", distinct(2, 8760h)};
    using names = std::vector<std::string>;
    for (const auto& known : {names{"a"}, names{"a", "b"}})
        for (const auto* member : {"a", "c", "d"}) {
            auto s = open_store(sample, 0ms);
            for (const auto& one : known)
                s->allow("k", seconds, {.member = one});
            const auto d = s->allow("k", year, {.member = member});
            const auto end = (d.server_time + d.reset_after).time_since_epoch().count() / 1000;
            BOOST_TEST(d.reset_after.count() > 5 * second);
            BOOST_TEST(look().must({"PEXPIRETIME", sketch_name_of(seconds, "k")}).integer >= end,
                       member);
        }
}

BOOST_DATA_TEST_CASE(so_do_the_sketches_of_many_keys_that_are_asked_together, every_redis()) {
    const policy seconds{"p", distinct(2, 5s)};
    const policy year{"p", distinct(2, 8760h)};
    auto s = open_store(sample, 0ms);
    const auto ask = [&](const policy& p) {
        auto checks = std::vector<check_item>{};
        for (const auto* key : {"i", "j", "k"})
            checks.push_back({.key = key, .policy = p, .options = {.member = "a"}});
        BOOST_TEST(!s->allow_many(checks));
        return checks;
    };
    ask(seconds);
    for (const auto& c : ask(year)) {
        const auto end = c.result.server_time + c.result.reset_after;
        const auto expires = look().must({"PEXPIRETIME", sketch_name_of(year, c.key)}).integer;
        BOOST_TEST(expires >= end.time_since_epoch().count() / 1000, c.key);
    }
}

BOOST_DATA_TEST_CASE(what_is_no_sketch_keeps_its_end_when_a_window_got_longer, every_redis()) {
    const policy seconds{"p", distinct(2, 5s)};
    const policy year{"p", distinct(2, 8760h)};
    auto s = open_store(sample, 0ms);
    const auto name = sketch_name_of(seconds, "k");
    s->allow("k", seconds, {.member = "a"});
    look().must({"DEL", name});
    look().must({"RPUSH", name, "somebody's"});
    s->refund("k", year);
    BOOST_TEST(look().pttl(name) == -1);
}

// A sketch is evicted on its own; the value still says how many there were.
BOOST_DATA_TEST_CASE(P4_a_sketch_that_was_lost_and_made_again_ends_in_time, every_redis()) {
    auto s = open_store(sample);
    const auto name = sketch_name_of(three, "k");
    s->allow("k", three, {.member = "a", .now = at(minute)});
    look().must({"DEL", name});
    BOOST_TEST(s->allow("k", three, {.member = "b", .now = at(minute)}).rules[0].balance == 2);
    BOOST_TEST(look().pttl(name) > 0);
}

BOOST_DATA_TEST_CASE(P3_a_peek_makes_no_sketch_where_one_was_lost, every_redis()) {
    auto s = open_store(sample);
    s->allow("k", three, {.cost = 1, .member = "a", .now = at(minute)});
    look().must({"DEL", sketch_name_of(three, "k")});
    const auto before = take_picture();
    s->peek("k", three, {.member = "b", .now = at(minute)});
    BOOST_TEST((take_picture() == before));
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

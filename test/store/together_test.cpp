// SPDX-License-Identifier: BSL-1.0
//
// Several checks in one call: allow_all, all or nothing, and allow_many, each on its own.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(together)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy user{"user", gcra(1, 1s).burst(5)};
const policy tenant{"tenant", sliding_log(8, 1min)};
const policy everybody{"everybody", distinct(3, 1min), fixed_window(20, 1min)};

[[nodiscard]] std::vector<check_item> three_checks(std::string_view who, std::int64_t cost = 1,
                                                   time_point now = at(0)) {
    const auto options = check_options{.cost = cost, .member = who, .now = now};
    return {{.key = who, .policy = user, .options = options},
            {.key = "acme", .policy = tenant, .options = options},
            {.key = "", .policy = everybody, .options = options}};
}

/// Returns the decision of all checks if it is that of this one.
[[nodiscard]] decision decided_by(const std::vector<check_item>& checks, std::uint8_t which) {
    auto d = checks[which].result;
    d.limiting_check = which;
    return d;
}

BOOST_DATA_TEST_CASE(all_checks_are_charged_when_all_of_them_fit, every_limiter()) {
    auto s = open_store(sample);
    auto checks = three_checks("ann", 3);
    const auto [ec, d] = s->allow_all(checks);
    BOOST_TEST(!ec);
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST(checks[0].result.remaining == 2);
    BOOST_TEST(checks[1].result.remaining == 5);
    BOOST_TEST(checks[2].result.rules[0].balance == 2);
    BOOST_TEST(checks[2].result.rules[1].balance == 17);
    BOOST_TEST(d == decided_by(checks, 2)); // the least remaining, then the longest recovery
    for (const auto& c : checks)
        BOOST_TEST(!c.ec);
}

/// P8: a clock that was set back lengthens no wait by the step, where no other verb is called
/// either.
BOOST_DATA_TEST_CASE(P8_denied_checks_take_up_a_clock_that_was_set_back, every_limiter()) {
    for (const auto& r :
         {gcra(1, 1min), token_bucket(1, 1, 1min).stepwise(), token_bucket(1, 1, 1min).aligned(),
          fixed_window(1, 1min), fixed_window(1, 1min).from_first(), sliding_window(1, 1min),
          sliding_log(1, 1min), distinct(1, 1min)}) {
        auto s = open_store(sample);
        const policy one{"one", r};
        const auto ask = [&](std::int64_t seconds) {
            const auto member = "m" + std::to_string(seconds);
            const auto now = at(seconds * second);
            auto checks = std::vector<check_item>{
                {.key = "a", .policy = one, .options = {.member = member, .now = now}},
                {.key = "b", .policy = user, .options = {.now = now}}};
            const auto [ec, d] = s->allow_all(checks);
            BOOST_TEST(!ec);
            return d.allowed();
        };
        BOOST_TEST(ask(0));
        BOOST_TEST(!ask(-3'600));
        BOOST_TEST(ask(-3'600 + 121), to_string(r));
    }
}

BOOST_DATA_TEST_CASE(P7_one_check_that_does_not_fit_charges_none, every_limiter()) {
    auto s = open_store(sample);
    auto first = three_checks("ann", 4);
    (void)s->allow_all(first);
    // The user has enough, the tenant has not.
    auto second_user = three_checks("bob", 5);
    const auto [ec, d] = s->allow_all(second_user);
    BOOST_TEST(!ec);
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d == decided_by(second_user, 1));
    BOOST_TEST(d.retry_after.count() == 60 * second);
    BOOST_TEST(second_user[0].result.outcome == outcome::allowed);
    for (const auto& c : second_user)
        BOOST_TEST(c.result.granted == 0);
    const auto peek = check_options{.member = "bob", .now = at(0)};
    BOOST_TEST(s->peek("bob", user, peek).remaining == 5);
    BOOST_TEST(s->peek("acme", tenant, peek).remaining == 4);
    BOOST_TEST(s->peek("", everybody, peek).rules[0].balance == 2);
    BOOST_TEST(s->peek("", everybody, peek).rules[1].balance == 16);
}

BOOST_DATA_TEST_CASE(any_of_the_checks_can_refuse_all, every_limiter()) {
    for (int refusing = 0; refusing < 4; ++refusing) {
        auto s = open_store(sample);
        const auto peek = check_options{.member = "zoe", .now = at(0)};
        if (refusing == 0)
            s->charge("zoe", user, {.cost = 5, .now = at(0)});
        if (refusing == 1)
            s->charge("acme", tenant, {.cost = 8, .now = at(0)});
        for (const auto* member : {"a", "b", "c"})
            if (refusing == 2)
                s->charge("", everybody, {.member = member, .now = at(0)});
        if (refusing == 3)
            s->block("", everybody, 1h, {.now = at(0)});
        const auto before = std::vector{s->peek("zoe", user, peek), s->peek("acme", tenant, peek),
                                        s->peek("", everybody, peek)};
        auto checks = three_checks("zoe");
        const auto [ec, d] = s->allow_all(checks);
        BOOST_TEST(!ec);
        BOOST_TEST(d.outcome == outcome::denied, refusing);
        BOOST_TEST(int{d.limiting_check} == std::min(refusing, 2));
        BOOST_TEST(s->peek("zoe", user, peek) == before[0]);
        BOOST_TEST(s->peek("acme", tenant, peek) == before[1]);
        BOOST_TEST(s->peek("", everybody, peek) == before[2]);
    }
}

BOOST_DATA_TEST_CASE(P3_a_refusal_of_all_leaves_every_key_as_it_was, every_redis()) {
    auto s = open_store(sample);
    auto first = three_checks("ann", 5);
    (void)s->allow_all(first);
    const auto before = take_picture();
    BOOST_TEST(before.size() == 4U); // two values, a log, a sketch
    for (int i = 0; i < 3; ++i) {
        auto checks = three_checks("bob", 4, at(i));
        BOOST_TEST(s->allow_all(checks).result.outcome == outcome::denied);
    }
    BOOST_TEST((take_picture() == before));
}

BOOST_DATA_TEST_CASE(many_keys_together_are_one_script_call, every_redis()) {
    auto s = open_store(sample);
    auto checks = three_checks("ann");
    (void)s->allow_all(checks);
    look().must({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < 4; ++i) {
        auto more = three_checks("ann", 1, at(i));
        (void)s->allow_all(more);
    }
    BOOST_TEST(check_calls(look()) == 4);
}

BOOST_DATA_TEST_CASE(what_cannot_be_asked_together_is_refused_and_charges_nothing,
                     every_limiter()) {
    auto s = open_store(sample);
    const auto now = check_options{.now = at(0)};
    const auto refused = [&](std::vector<check_item> checks) {
        return s->allow_all(checks).ec == errc::invalid_argument;
    };
    BOOST_TEST(refused({}));
    BOOST_TEST(refused({{"k", user, now}, {"other", user, now}, {"k", user, now}}));
    BOOST_TEST(refused({{"k", user, now}, {"k", policy{"user", gcra(9, 1s)}, now}}));
    BOOST_TEST(refused({{"k", user, now}, {"other", user, {.now = at(1)}}}));
    BOOST_TEST(refused({{"k", user, now}, {"other", user}}));
    BOOST_TEST(refused({{"k", user, now}, {"other", user, {.cost = -1, .now = at(0)}}}));
    BOOST_TEST(refused({{"k", user, now}, {"", everybody, now}})); // without a member
    auto too_many = std::vector<check_item>{};
    auto keys = std::vector<std::string>{};
    for (int i = 0; i < 65; ++i)
        keys.push_back("k" + std::to_string(i));
    for (const auto& key : keys)
        too_many.push_back({key, user, now});
    BOOST_TEST(refused(too_many));
    BOOST_TEST(s->peek("k", user, now).remaining == 5);
    too_many.pop_back();
    BOOST_TEST(s->allow_all(too_many).result.outcome == outcome::allowed);
    for (const auto& c : too_many)
        BOOST_TEST(c.result.remaining == 4);
    const auto long_key = std::string(limits::max_key_bytes + 1, 'x');
    auto with_long_key = std::vector<check_item>{{"k", user, now}, {long_key, user, now}};
    BOOST_TEST((s->allow_all(with_long_key).ec == errc::invalid_key));
}

BOOST_DATA_TEST_CASE(one_key_under_several_policies_is_several_checks, every_limiter()) {
    auto s = open_store(sample);
    const auto now = check_options{.now = at(0)};
    auto checks = std::vector<check_item>{
        {"k", user, now}, {"k", tenant, now}, {"k", user.with_prefix("elsewhere"), now}};
    BOOST_TEST(s->allow_all(checks).result.outcome == outcome::allowed);
    BOOST_TEST(s->peek("k", user, now).remaining == 4);
    BOOST_TEST(s->peek("k", user.with_prefix("elsewhere"), now).remaining == 4);
}

BOOST_DATA_TEST_CASE(a_partial_grant_is_each_checks_own, every_limiter()) {
    auto s = open_store(sample);
    const auto some = check_options{.cost = 7, .at_least = 1, .now = at(0)};
    auto checks = std::vector<check_item>{{"k", user, some}, {"k", tenant, some}};
    BOOST_TEST(s->allow_all(checks).result.outcome == outcome::allowed);
    BOOST_TEST(checks[0].result.granted == 5);
    BOOST_TEST(checks[1].result.granted == 7);
}

BOOST_DATA_TEST_CASE(logs_that_are_asked_together_each_remember_for_their_own_time,
                     every_limiter()) {
    const auto brief = policy{"brief", sliding_log(1, 1s)};
    const auto hour = policy{"hour", sliding_log(30, 1h)};
    for (const auto* order : {"brief first", "hour first"}) {
        auto s = open_store(sample);
        const auto ask = [&](int i) {
            const auto options = check_options{.now = at(2 * i * second)};
            auto checks =
                std::vector<check_item>{{.key = order, .policy = brief, .options = options},
                                        {.key = order, .policy = hour, .options = options}};
            if (order == std::string_view{"hour first"})
                std::swap(checks[0], checks[1]);
            return s->allow_all(checks).result.allowed();
        };
        for (int i = 0; i < 30; ++i)
            BOOST_TEST(ask(i));
        BOOST_TEST(!ask(30));
        BOOST_TEST(s->peek(order, hour, {.now = at(60 * second)}).remaining == 0);
    }
}

BOOST_DATA_TEST_CASE(without_a_clock_of_their_own_checks_share_the_stores, every_limiter()) {
    auto s = open_store(sample, 0ms);
    auto checks = std::vector<check_item>{{"a", user}, {"b", user}, {"c", tenant}};
    BOOST_TEST(s->allow_all(checks).result.outcome == outcome::allowed);
    BOOST_TEST((checks[0].result.server_time == checks[2].result.server_time));
}

BOOST_DATA_TEST_CASE(a_foreign_key_among_them_is_a_conflict_and_nothing_is_charged, every_redis()) {
    const auto names = {name_of(user, "ann"), name_of(tenant, "acme"), log_name_of(tenant, "acme"),
                        name_of(everybody, ""), sketch_name_of(everybody, "")};
    for (const auto& name : names) {
        auto s = open_store(sample);
        look().must({"RPUSH", name, "somebody's", "list"});
        const auto before = take_picture();
        auto checks = three_checks("ann");
        BOOST_TEST((s->allow_all(checks).ec == errc::key_conflict), name);
        BOOST_TEST((take_picture() == before), name);
    }
}

BOOST_DATA_TEST_CASE(many_checks_are_decided_each_on_its_own, every_limiter()) {
    auto s = open_store(sample);
    const auto one = check_options{.now = at(0)};
    const auto long_key = std::string(limits::max_key_bytes + 1, 'x');
    auto checks = std::vector<check_item>{
        {"ann", user, {.cost = 5, .now = at(0)}},
        {"ann", user, one},
        {"acme", tenant, one},
        {"", everybody, one}, // without a member
        {"", everybody, {.member = "ann", .now = at(0)}},
        {long_key, user, one},
        {"bob", user, {.cost = 6, .now = at(0)}},
        {"bob", user, {.cost = 9, .at_least = 1, .now = at(second)}},
        {"ann", user, {.cost = -1, .now = at(0)}},
    };
    BOOST_TEST(!s->allow_many(checks));
    BOOST_TEST(checks[0].result.outcome == outcome::allowed);
    BOOST_TEST(checks[1].result.outcome == outcome::denied); // after the one before it
    BOOST_TEST(checks[2].result.remaining == 7);
    BOOST_TEST((checks[3].ec == errc::invalid_argument));
    BOOST_TEST(checks[4].result.rules[0].balance == 2);
    BOOST_TEST((checks[5].ec == errc::invalid_key));
    BOOST_TEST(checks[6].result.outcome == outcome::never);
    BOOST_TEST(checks[7].result.granted == 5);
    BOOST_TEST((checks[8].ec == errc::invalid_argument));
    for (const auto i : {0U, 1U, 2U, 4U, 6U, 7U})
        BOOST_TEST(!checks[i].ec);
    BOOST_TEST(!s->allow_many({}));
}

BOOST_DATA_TEST_CASE(a_foreign_key_fails_its_own_check_of_many, every_redis()) {
    auto s = open_store(sample);
    look().must({"RPUSH", name_of(user, "bad"), "somebody's", "list"});
    const auto one = check_options{.now = at(0)};
    auto checks = std::vector<check_item>{{"a", user, one}, {"bad", user, one}, {"b", user, one}};
    BOOST_TEST(!s->allow_many(checks));
    BOOST_TEST(checks[0].result.remaining == 4);
    BOOST_TEST((checks[1].ec == errc::key_conflict));
    BOOST_TEST(checks[2].result.remaining == 4);
}

BOOST_DATA_TEST_CASE(a_thousand_checks_are_a_few_script_calls, every_redis()) {
    auto s = open_store(sample);
    auto keys = std::vector<std::string>{};
    for (int i = 0; i < 1000; ++i)
        keys.push_back(std::to_string(i));
    auto checks = std::vector<check_item>{};
    for (const auto& key : keys)
        checks.push_back({key, user, {.now = at(0)}});
    look().must({"CONFIG", "RESETSTAT"});
    BOOST_TEST(!s->allow_many(checks));
    auto wrong = 0;
    for (const auto& c : checks)
        wrong += !c.ec && c.result.remaining == 4 ? 0 : 1;
    BOOST_TEST(wrong == 0);
    BOOST_TEST(check_calls(look()) < 20);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

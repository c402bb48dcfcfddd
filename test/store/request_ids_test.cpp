// SPDX-License-Identifier: BSL-1.0
//
// Calls with an id: made once, however often they are sent, and answered in the same way each time.

#include "stores.hpp"

#include <policy/policy_data.hpp>
#include <support/decision_text.hpp>
#include <support/rng.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(request_ids)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

const policy five{"five", gcra(5, 1h)};

/// A policy for each kind, logs, sketches, and several rules.
[[nodiscard]] std::vector<policy> every_policy() {
    auto all = std::vector<policy>{};
    for (const auto& r : rules_of_every_kind(5, 24h))
        all.emplace_back("p" + std::to_string(all.size()), r);
    all.emplace_back("log", sliding_log(5, 1h));
    all.emplace_back("denied", sliding_log(5, 1h).count_denied());
    all.emplace_back("members", distinct(5, 1h));
    all.emplace_back("both", sliding_log(5, 1h), distinct(3, 1h).named("d"), gcra(4, 1h));
    all.push_back(policy{"cooldown", gcra(5, 1h)}.prevent_duplicate(1min));
    return all;
}

[[nodiscard]] bool is_same(const answer& a, const answer& b) {
    return a.ec == b.ec && a.result == b.result;
}

[[nodiscard]] std::string text_of(const answer& a) {
    return a.ec ? a.ec.message() : test::text_of(a.result);
}

/// The names of records on the server.
[[nodiscard]] std::vector<std::string> record_names() {
    auto all = look().keys();
    std::erase_if(all, [](const auto& name) { return name.find(":r:") == std::string::npos; });
    return all;
}

} // namespace

BOOST_DATA_TEST_CASE(a_call_with_an_id_is_made_once, every_store()) {
    auto s = open_store(sample);
    struct call {
        asked_verb verb;
        std::int64_t cost;
        std::int64_t at_least;
    };
    static constexpr call calls[] = {{asked_verb::allow, 2, 2},  {asked_verb::allow, 9, 1},
                                     {asked_verb::allow, 1, 1},  {asked_verb::allow, 9, 9},
                                     {asked_verb::refund, 1, 1}, {asked_verb::charge, 2, 2},
                                     {asked_verb::allow, 0, 0}};
    for (const auto& p : every_policy()) {
        auto first = std::vector<answer>{};
        const auto make = [&](std::size_t i, std::int64_t when) {
            const auto id = "call " + std::to_string(i);
            return s->ask(calls[i].verb, "k", p,
                          {.cost = calls[i].cost,
                           .at_least = calls[i].at_least,
                           .member = id,
                           .request = id,
                           .now = at(when)});
        };
        const auto state = [&](std::int64_t when) {
            return test::text_of(s->peek("k", p, {.cost = 0, .member = "m", .now = at(when)}));
        };
        for (std::size_t i = 0; i < std::size(calls); ++i) {
            const auto now = static_cast<std::int64_t>(i) * second;
            first.push_back(make(i, now));
            BOOST_TEST(!first.back().ec, first.back().ec.message() << " of " << p.name());
            const auto before = state(now);
            for (auto times = 0; times < 2; ++times)
                for (std::size_t j = 0; j <= i; ++j) {
                    const auto again = make(j, now);
                    BOOST_TEST(is_same(again, first[j]), text_of(again)
                                                             << " instead of " << text_of(first[j])
                                                             << " under " << p.name());
                }
            BOOST_TEST(state(now) == before, p.name());
        }
    }
}

/// The reference gets each call once, and knows no ids.
BOOST_DATA_TEST_CASE(histories_with_ids_are_those_without_repetitions, every_store()) {
    auto d = rng{7};
    auto policies = every_policy();
    if (sample == store_kind::packed) // in which no debt is above the limit
        for (auto& p : policies)
            if (const auto& rules = detail::access::data(p)->compiled;
                !rules.has_log && !rules.has_distinct)
                p = p.with_storage(storage::shared_hash);
    for (auto round = 0; round < 10; ++round) {
        auto s = open_store(sample);
        auto reference = open_store(store_kind::local);
        auto known = std::map<std::string, std::pair<check_options, answer>>{};
        auto verbs = std::map<std::string, asked_verb>{};
        auto now = std::int64_t{0};
        for (auto call = 0; call < 150; ++call) {
            static constexpr asked_verb all_verbs[] = {asked_verb::allow, asked_verb::allow,
                                                       asked_verb::allow, asked_verb::charge,
                                                       asked_verb::refund};
            const auto& p = policies[d.below(policies.size())];
            now += d.percent(50) ? d.between(0, 3 * second) : 0; // less than the TTL in all
            const auto key = std::to_string(d.below(2));
            const auto id = std::to_string(d.below(15));
            const auto name = std::string{p.name()} + '/' + key + '/' + id;
            const auto cost = d.between(0, 3);
            auto options = check_options{.cost = cost, .member = "m", .request = id};
            auto v = d.pick(all_verbs);
            const auto found = known.find(name);
            if (found != known.end()) {
                v = verbs[name];
                options.cost = found->second.first.cost;
            }
            options.now = at(now);
            const auto got = s->ask(v, key, p, options);
            if (found == known.end()) {
                auto plain = options;
                plain.request.reset();
                verbs[name] = v;
                known[name] = {options, reference->ask(v, key, p, plain)};
            }
            const auto& expected = known[name].second;
            BOOST_TEST_REQUIRE(is_same(got, expected), text_of(got)
                                                           << " instead of " << text_of(expected)
                                                           << " for " << name);
        }
    }
}

BOOST_DATA_TEST_CASE(an_id_is_refused_for_another_call, every_store()) {
    auto s = open_store(sample);
    const auto ask = [&](asked_verb v, const policy& p, std::int64_t cost, std::int64_t at_least,
                         std::string_view member = "m") {
        const auto got = s->ask(
            v, "k", p,
            {.cost = cost, .at_least = at_least, .member = member, .request = "id", .now = at(0)});
        BOOST_TEST((!got.ec || got.ec == errc::invalid_argument));
        return got.ec ? got.ec.message() : ""s;
    };
    // The text of an exception is not in its code.
    const auto refusal = [is_local = sample == store_kind::local](const std::string& of) {
        return is_local ? make_error_code(errc::invalid_argument).message()
                        : "request: the id was used for another " + of +
                              " (expected the arguments of that call, or a new id)";
    };
    BOOST_TEST(ask(asked_verb::allow, five, 2, 2).empty());
    BOOST_TEST(ask(asked_verb::charge, five, 2, 2) == refusal("verb"));
    BOOST_TEST(ask(asked_verb::refund, five, 2, 2) == refusal("verb"));
    BOOST_TEST(ask(asked_verb::allow, five, 1, 1) == refusal("cost"));
    BOOST_TEST(ask(asked_verb::allow, five, 2, 1) == refusal("at_least"));
    BOOST_TEST(ask(asked_verb::allow, policy{"five", gcra(6, 1h)}, 2, 2) ==
               refusal("version of the policy"));
    BOOST_TEST(s->peek("k", five, {.now = at(0)}).remaining == 3);
    BOOST_TEST(ask(asked_verb::allow, five, 2, 2, "other").empty()); // it counts no members

    const auto members = policy{"members", distinct(5, 1h)};
    BOOST_TEST(ask(asked_verb::allow, members, 1, 1).empty());
    BOOST_TEST(ask(asked_verb::allow, members, 1, 1, "other") == refusal("member"));
    BOOST_TEST(s->peek("k", members, {.cost = 0, .now = at(0)}).remaining == 4);
}

BOOST_DATA_TEST_CASE(an_id_belongs_to_its_key_and_policy, every_store()) {
    auto s = open_store(sample);
    const auto other = policy{"other", gcra(5, 1h)};
    const auto make = [&](std::string_view key, const policy& p, std::string_view id) {
        return s->allow(key, p, {.request = id, .now = at(0)}).remaining;
    };
    for (auto times = 0; times < 3; ++times) {
        BOOST_TEST(make("k", five, "id") == 4);
        BOOST_TEST(make("l", five, "id") == 4);
        BOOST_TEST(make("k", other, "id") == 4);
        BOOST_TEST(make("k", five, "id2") == 3);
        BOOST_TEST(make("ki", five, "d") == 4);
    }
}

BOOST_DATA_TEST_CASE(an_id_has_any_bytes, every_store()) {
    auto s = open_store(sample);
    const auto many = policy{"many", gcra(10, 1h)};
    auto left = std::int64_t{10};
    for (const auto& id :
         {"\r\n"s, "\0"s, "\0\0"s, "{}"s, "a:b"s, std::string(256, 'x'), std::string(255, 'x')}) {
        --left;
        BOOST_TEST(s->allow("k", many, {.request = id, .now = at(0)}).remaining == left);
        BOOST_TEST(s->allow("k", many, {.request = id, .now = at(0)}).remaining == left);
    }
    for (const auto& id : {""s, std::string(257, 'x')})
        BOOST_TEST(
            (s->ask(asked_verb::allow, "k", many, {.request = id}).ec == errc::invalid_argument));
    BOOST_TEST(
        (s->ask(asked_verb::peek, "k", many, {.request = "id"}).ec == errc::invalid_argument));
}

BOOST_DATA_TEST_CASE(checks_have_ids_of_their_own, every_limiter()) {
    auto s = open_store(sample);
    const auto ids = std::vector<std::string>{"a", "b", "a", "c", "b"};
    const auto make = [&] {
        auto checks = std::vector<check_item>{};
        for (const auto& id : ids)
            checks.push_back({"k", five, {.request = id, .now = at(0)}});
        checks.push_back({"k", five, {.cost = 0, .now = at(0)}});
        checks.push_back({"l", five, {.request = "a", .now = at(0)}});
        BOOST_TEST(!s->allow_many(checks));
        return checks;
    };
    const auto first = make();
    const auto second_time = make();
    for (std::size_t i = 0; i < first.size(); ++i) {
        BOOST_TEST(!first[i].ec, first[i].ec.message());
        if (first[i].options.request)
            BOOST_TEST((first[i].result == second_time[i].result));
    }
    BOOST_TEST((first[0].result == first[2].result));
    BOOST_TEST((first[1].result == first[4].result));
    BOOST_TEST(s->peek("k", five, {.now = at(0)}).remaining == 2);
    BOOST_TEST(s->peek("l", five, {.now = at(0)}).remaining == 4);

    auto together = std::vector<check_item>{{"k", five, {.request = "id", .now = at(0)}}};
    BOOST_TEST((s->allow_all(together).ec == errc::invalid_argument));
}

BOOST_DATA_TEST_CASE(a_record_is_kept_for_its_time, every_redis()) {
    auto s = open_store(sample);
    for (auto times = 0; times < 2; ++times) {
        BOOST_TEST(s->allow("k", five, {.cost = 5, .request = "granted"}).allowed());
        BOOST_TEST(!s->allow("k", five, {.cost = 5, .request = "denied"}).allowed());
    }
    const auto names = record_names();
    BOOST_TEST(names.size() == 2U);
    constexpr auto five_minutes = 300'000;
    for (const auto& name : names) {
        const auto ttl = look().pttl(name);
        BOOST_TEST(ttl > 0);
        BOOST_TEST(ttl <= five_minutes);
        look().must({"DEL", name}); // as if that time had passed
    }
    BOOST_TEST(!s->allow("k", five, {.cost = 5, .request = "granted"}).allowed());
}

BOOST_DATA_TEST_CASE(what_is_not_a_record_is_a_conflict_and_stays, every_redis()) {
    for (const auto* plant : {"SET", "RPUSH"}) {
        auto s = open_store(sample);
        s->allow("k", five, {.request = "id", .now = at(0)});
        const auto name = record_names().at(0);
        look().must({"DEL", name});
        look().must({plant, name, "not a record"});
        const auto before = take_picture();
        const auto got = s->ask(asked_verb::charge, "k", five, {.request = "id", .now = at(0)});
        BOOST_TEST((got.ec == errc::key_conflict), got.ec.message());
        BOOST_TEST((take_picture() == before));
        BOOST_TEST(s->allow("k", five, {.request = "other", .now = at(0)}).remaining == 3);
    }
}

BOOST_AUTO_TEST_SUITE_END()

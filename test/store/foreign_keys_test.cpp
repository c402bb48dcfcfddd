// SPDX-License-Identifier: BSL-1.0
//
// Invalid values of keys, logs and sketches: other types are not changed, corrupt values are read
// as empty and repaired.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(foreign_keys)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy all{"all", gcra(1, 1s).burst(5), sliding_log(5, 1min), distinct(5, 1min)};
constexpr asked_verb verbs[] = {asked_verb::allow, asked_verb::peek, asked_verb::charge,
                                asked_verb::refund, asked_verb::reset};

/// Things of several types under a name; a string only where none is expected there.
[[nodiscard]] std::vector<std::vector<std::string_view>> foreigners(std::string_view name) {
    return {{"RPUSH", name, "somebody's", "list"},
            {"HSET", name, "somebody's", "hash"},
            {"SADD", name, "somebody's", "set"},
            {"XADD", name, "1-1", "somebody's", "stream"}};
}

void put(const std::vector<std::string_view>& words) {
    const auto& w = words;
    w.size() == 3   ? look().must({w[0], w[1], w[2]})
    : w.size() == 4 ? look().must({w[0], w[1], w[2], w[3]})
                    : look().must({w[0], w[1], w[2], w[3], w[4]});
}

/// Every verb that has to do with the name answers key_conflict and changes nothing.
void check_conflict(open_limiter& s, asked_verb verb, std::string_view name) {
    for (const std::int64_t cost : {1, 3}) {
        const auto before = take_picture();
        const auto got = s.ask(verb, "k", all, {.cost = cost, .member = "m", .now = at(0)});
        BOOST_TEST((got.ec == errc::key_conflict),
                   name << " verb " << int(verb) << ": " << got.ec.message());
        BOOST_TEST((take_picture() == before), name << " verb " << int(verb));
    }
}

BOOST_DATA_TEST_CASE(foreign_types_under_any_name_of_a_new_key_are_conflicts, every_redis()) {
    auto s = open_store(sample);
    for (const auto& name : {name_of(all, "k"), log_name_of(all, "k")})
        for (const auto& foreign : foreigners(name)) {
            look().must({"FLUSHALL"});
            put(foreign);
            for (const auto verb : verbs)
                check_conflict(*s, verb, name);
        }
}

BOOST_DATA_TEST_CASE(foreign_types_in_the_place_of_a_sketch_are_conflicts, every_redis()) {
    auto s = open_store(sample);
    const auto name = sketch_name_of(all, "k");
    auto them = foreigners(name);
    them.push_back({"SET", name, "somebody's string"});
    them.push_back({"ZADD", name, "1", "somebody's sorted set"});
    for (const auto& foreign : them) {
        look().must({"FLUSHALL"});
        put(foreign);
        for (const auto verb :
             {asked_verb::allow, asked_verb::peek, asked_verb::charge, asked_verb::reset})
            check_conflict(*s, verb, name);
    }
    // The same once members have been counted.
    for (const auto& foreign : them) {
        look().must({"FLUSHALL"});
        s->allow("k", all, {.member = "first", .now = at(0)});
        look().must({"DEL", name});
        put(foreign);
        for (const auto verb :
             {asked_verb::allow, asked_verb::peek, asked_verb::charge, asked_verb::reset})
            check_conflict(*s, verb, name);
    }
}

BOOST_DATA_TEST_CASE(a_string_that_is_no_log_is_read_as_empty_and_replaced, every_redis()) {
    auto s = open_store(sample);
    const auto name = log_name_of(all, "k");
    look().must({"SET", name, "no log"});
    BOOST_TEST(s->peek("k", all, {.member = "m", .now = at(0)}).rules[1].balance == 5);
    BOOST_TEST(look().get(name).value() == "no log"); // a peek repairs nothing
    BOOST_TEST(s->allow("k", all, {.member = "m", .now = at(0)}).rules[1].balance == 4);
    BOOST_TEST(events_of(look(), all, "k") == 1U);
    BOOST_TEST(look().pttl(name) > 0);
    BOOST_TEST(s->allow("k", all, {.member = "m", .now = at(1)}).rules[1].balance == 3);
}

BOOST_DATA_TEST_CASE(a_corrupt_value_beside_a_log_and_a_sketch_is_repaired, every_redis()) {
    auto s = open_store(sample);
    const auto name = name_of(all, "k");
    s->allow("k", all, {.cost = 2, .member = "a", .now = at(0)});
    const auto good = look().get(name).value();
    look().must({"SET", name, "x"});
    const auto d = s->allow("k", all, {.cost = 2, .member = "b", .now = at(0)});
    BOOST_TEST(d.outcome == outcome::allowed);
    BOOST_TEST(d.rules[0].balance == 3); // what was in the value is lost
    BOOST_TEST(d.rules[1].balance == 1); // the log is another key
    BOOST_TEST(d.rules[2].balance == 4);
    BOOST_TEST(look().get(name).value().size() == good.size());
}

BOOST_DATA_TEST_CASE(a_corrupt_state_of_any_kind_is_repaired_by_a_refusal_too, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", fixed_window(5, 1h), sliding_window(5, 1h), gcra(1, 1h).burst(5),
                   calendar(5, calendar_unit::day).shadow()};
    const auto name = name_of(p, "k");
    s->allow("k", p, {.cost = 2, .now = at(0)});
    look().must({"SET", name, std::string(400, '\xff')});
    BOOST_TEST(s->allow("k", p, {.cost = 6, .now = at(0)}).outcome == outcome::never);
    BOOST_TEST(look().get(name).value().size() == 400U);
    BOOST_TEST(s->allow("k", p, {.cost = 0, .now = at(0)}).outcome == outcome::allowed);
    BOOST_TEST(look().dbsize() == 0); // nothing is owed
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

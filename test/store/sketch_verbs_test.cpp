// SPDX-License-Identifier: BSL-1.0
//
// Counting distinct members, recording several, and looking up many ids: the same on every store.

#include "stores.hpp"

#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(sketch_verbs)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy three{"three", distinct(3, 1min)};
const policy two_windows{"two", gcra(100, 1h), distinct(2, 1min).named("minute"),
                         distinct(3, 1h).named("hour")};

/// A minute and an hour begin then.
constexpr auto hour = std::int64_t{2'800} * second;

[[nodiscard]] std::vector<std::string> numbered(int end) {
    auto all = std::vector<std::string>{};
    for (int i = 0; i < end; ++i)
        all.push_back("member " + std::to_string(i));
    return all;
}

[[nodiscard]] std::vector<seen_item> items_of(const std::vector<std::string>& ids) {
    auto all = std::vector<seen_item>{};
    for (const auto& id : ids)
        all.push_back({.id = id});
    return all;
}

[[nodiscard]] std::vector<bool> results_of(const std::vector<seen_item>& items) {
    auto all = std::vector<bool>{};
    for (const auto& one : items) {
        BOOST_TEST(!one.ec);
        all.push_back(one.seen);
    }
    return all;
}

BOOST_DATA_TEST_CASE(the_count_is_the_number_of_different_members, every_store()) {
    auto s = open_store(sample);
    const auto count = [&](std::int64_t us) {
        const auto got = s->count_distinct("k", three, {.now = at(us)});
        BOOST_TEST(!got.ec);
        return got.number;
    };
    BOOST_TEST(count(hour) == 0);
    for (const auto* member : {"a", "b", "a"})
        s->allow("k", three, {.member = member, .now = at(hour)});
    BOOST_TEST(count(hour) == 2);
    for (const auto* member : {"c", "d", "e"})
        s->charge("k", three, {.member = member, .now = at(hour)});
    BOOST_TEST(count(hour + 60 * second - 1) == 5); // above the limit
    BOOST_TEST(count(hour + 60 * second) == 0);
    s->block("k", three, 1h, {.now = at(hour)});
    BOOST_TEST(count(hour) == 5);
    s->reset("k", three, {.now = at(hour)});
    BOOST_TEST(count(hour) == 0);
}

BOOST_DATA_TEST_CASE(the_first_distinct_rule_is_counted_or_the_one_that_is_named, every_store()) {
    auto s = open_store(sample);
    for (const auto* member : {"a", "b"})
        s->allow("k", two_windows, {.member = member, .now = at(hour)});
    const auto later = at(hour + 60 * second);
    s->allow("k", two_windows, {.member = "c", .now = later});
    BOOST_TEST(s->count_distinct("k", two_windows, {.now = later}).number == 1);
    BOOST_TEST(s->count_distinct("k", two_windows, {.rule = "minute", .now = later}).number == 1);
    BOOST_TEST(s->count_distinct("k", two_windows, {.rule = "hour", .now = later}).number == 3);
}

BOOST_DATA_TEST_CASE(without_a_rule_to_count_it_is_an_invalid_argument, every_store()) {
    auto s = open_store(sample);
    const policy bucket{"bucket", gcra(5, 1s)};
    const auto none = s->count_distinct("k", bucket, {});
    BOOST_TEST((none.ec == errc::invalid_argument));
    BOOST_TEST(none.number == 0);
    for (const auto* name : {"gcra", "minutes", ""})
        BOOST_TEST(
            (s->count_distinct("k", two_windows, {.rule = name}).ec == errc::invalid_argument));
    BOOST_TEST(
        (s->count_distinct("k", three, {.now = time_point{-1s}}).ec == errc::invalid_argument));
    BOOST_TEST((s->count_distinct(std::string(limits::max_key_bytes + 1, 'k'), three, {}).ec ==
                errc::invalid_key));
}

/// Also for thousands of members, where it is an estimate.
BOOST_DATA_TEST_CASE(the_count_is_that_of_PFCOUNT_and_of_peek, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", distinct(5'000, 1min)};
    const auto names = numbered(4'000);
    const auto all = std::vector<std::string_view>{names.begin(), names.end()};
    for (std::size_t i = 0; i < all.size(); i += 500) {
        (void)s->charge_members("k", p, std::span{all}.subspan(i, 500), {.now = at(hour)});
        const auto counted = s->count_distinct("k", p, {.now = at(hour)}).number;
        BOOST_TEST(counted == look().must({"PFCOUNT", sketch_name_of(p, "k")}).integer);
        const auto peeked = s->peek("k", p, {.cost = 0, .now = at(hour)});
        BOOST_TEST(counted == 5'000 - peeked.rules[0].balance);
        BOOST_TEST(std::abs(counted - static_cast<std::int64_t>(i + 500)) <
                   static_cast<std::int64_t>(i + 500) / 20);
    }
}

BOOST_DATA_TEST_CASE(P3_a_count_writes_nothing, every_redis()) {
    auto s = open_store(sample);
    (void)s->count_distinct("k", three, {.now = at(hour)});
    BOOST_TEST(look().dbsize() == 0);
    s->allow("k", three, {.member = "a", .now = at(hour)});
    const auto before = take_picture();
    for (const auto now : {hour, hour + 3'600 * second, std::int64_t{0}})
        (void)s->count_distinct("k", three, {.now = at(now)});
    BOOST_TEST((take_picture() == before));
}

BOOST_DATA_TEST_CASE(every_store_counts_alike_whatever_was_recorded, every_store()) {
    const policy p{"p", distinct(2'000, 1min)};
    auto reference = open_store(store_kind::local);
    auto s = open_store(sample);
    std::mt19937_64 random{11};
    const auto names = numbered(3'000);
    for (int round = 0; round < 60; ++round) {
        auto some = std::vector<std::string_view>(1 + random() % 100);
        for (auto& one : some)
            one = names[random() % names.size()];
        const auto here = s->charge_members("k", p, some, {.now = at(hour)});
        const auto there = reference->charge_members("k", p, some, {.now = at(hour)});
        BOOST_TEST((here.result.rules == there.result.rules));
        BOOST_TEST(s->count_distinct("k", p, {.now = at(hour)}).number ==
                   reference->count_distinct("k", p, {.now = at(hour)}).number);
    }
}

BOOST_DATA_TEST_CASE(members_that_are_charged_together_are_as_many_charges, every_store()) {
    auto s = open_store(sample);
    const auto members = std::array<std::string_view, 4>{"a", "b", "a", "c"};
    const auto last = s->charge_members("k", two_windows, members, {.cost = 2, .now = at(hour)});
    BOOST_TEST(!last.ec);
    BOOST_TEST(last.result.rules[0].balance == 92); // each charges the bucket
    BOOST_TEST(last.result.rules[1].balance == -1);
    BOOST_TEST(last.result.rules[2].balance == 0);
    BOOST_TEST((last.result == s->peek("k", two_windows, {.cost = 0, .now = at(hour)})));
    const auto none = s->charge_members("k", two_windows, {}, {.now = at(hour)});
    BOOST_TEST((none.result == last.result));
}

BOOST_DATA_TEST_CASE(a_member_that_is_too_long_is_an_error_of_the_call, every_store()) {
    auto s = open_store(sample);
    const auto long_one = std::string(limits::max_key_bytes + 1, 'x');
    const auto members = std::array<std::string_view, 3>{"a", long_one, "b"};
    const auto got = s->charge_members("k", three, members, {.now = at(hour)});
    BOOST_TEST((got.ec == errc::invalid_argument));
    const auto counted = s->count_distinct("k", three, {.now = at(hour)}).number;
    BOOST_TEST(counted == (sample == store_kind::local ? 0 : 2)); // each is on its own
}

BOOST_DATA_TEST_CASE(of_several_members_the_first_error_is_that_of_the_call, every_redis()) {
    auto s = open_store(sample);
    look().must({"RPUSH", name_of(three, "k"), "somebody's", "list"});
    const auto long_one = std::string(limits::max_key_bytes + 1, 'x');
    const auto members = std::array<std::string_view, 2>{"a", long_one};
    const auto got = s->charge_members("k", three, members, {.now = at(hour)});
    BOOST_TEST((got.ec == errc::invalid_argument)); // the server has not replied by then
    const auto sent = s->charge_members("k", three, std::span{members}.first(1), {.now = at(hour)});
    BOOST_TEST((sent.ec == errc::key_conflict));
}

BOOST_DATA_TEST_CASE(of_many_ids_one_that_occurs_twice_is_seen_the_second_time, every_store()) {
    auto s = open_store(sample);
    const bloom_filter f{"f", {.capacity = 10'000}};
    const auto ids = std::vector<std::string>{"a", "b", "a", "c", "b", "a"};
    const auto ask = [&](bool records) {
        auto items = items_of(ids);
        BOOST_TEST(!s->look_up(items, f, records, {.now = at(0)}));
        return results_of(items);
    };
    BOOST_TEST((ask(false) == std::vector<bool>(6, false)));
    BOOST_TEST((ask(true) == std::vector{false, false, true, false, true, true}));
    BOOST_TEST((ask(false) == std::vector<bool>(6, true)));
    BOOST_TEST((ask(true) == std::vector<bool>(6, true)));
    auto none = std::vector<seen_item>{};
    BOOST_TEST(!s->look_up(none, f, true, {}));
}

BOOST_DATA_TEST_CASE(thousands_of_ids_in_one_call_are_each_decided_in_order, every_store()) {
    auto s = open_store(sample);
    const bloom_filter f{"f", {.capacity = 2'000'000, .error_rate = 0.000001}}; // several blocks
    const auto ids = numbered(2'000);
    auto items = items_of(ids);
    for (std::size_t i = 0; i < 1'000; ++i)
        items.push_back({.id = ids[i]});
    BOOST_TEST(!s->look_up(items, f, true, {.now = at(0)}));
    const auto seen = results_of(items);
    BOOST_TEST(std::count(seen.begin(), seen.begin() + 2'000, true) == 0);
    BOOST_TEST(std::count(seen.begin() + 2'000, seen.end(), true) == 1'000);
}

BOOST_DATA_TEST_CASE(an_id_that_is_too_long_fails_alone, every_limiter()) {
    auto s = open_store(sample);
    const bloom_filter f{"f"};
    const auto long_one = std::string(limits::max_key_bytes + 1, 'x');
    const auto ids = std::vector<std::string>{"a", long_one, "b"};
    auto items = items_of(ids);
    items[1].seen = true;
    BOOST_TEST(!s->look_up(items, f, true, {}));
    BOOST_TEST(!items[0].ec);
    BOOST_TEST((items[1].ec == errc::invalid_key));
    BOOST_TEST(!items[1].seen);
    BOOST_TEST(!items[2].ec);
}

BOOST_AUTO_TEST_CASE(in_process_an_id_that_is_too_long_keeps_all_from_being_recorded) {
    auto s = open_store(store_kind::local);
    const bloom_filter f{"f"};
    const auto ids = std::vector<std::string>{"a", std::string(limits::max_key_bytes + 1, 'x')};
    auto items = items_of(ids);
    BOOST_TEST((s->look_up(items, f, true, {}) == errc::invalid_key));
    items.pop_back();
    BOOST_TEST(!s->look_up(items, f, true, {}));
    BOOST_TEST(!items[0].seen);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The effects of stores in Redis on the server: when they write, for how long, under which names,
// and how they handle foreign values.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <redis/protocol/key.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(keys_on_a_server)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy ten{"ten", gcra(1, 1s).burst(10)};

/// The state that must not change: the value, and the end of the key.
[[nodiscard]] std::pair<std::optional<std::string>, std::int64_t> picture(const std::string& name) {
    return {look().dump(name), look().must({"PEXPIRETIME", name}).integer};
}

[[nodiscard]] std::int64_t longest_reset(const decision& d) {
    auto longest = std::int64_t{0};
    for (const auto& r : d.rules)
        longest = std::max(longest, std::int64_t{r.reset_after.count()});
    return longest;
}

BOOST_DATA_TEST_CASE(P3_a_denial_or_peek_leaves_value_and_end_as_they_were, every_redis()) {
    for (const auto now : {std::optional{at(0)}, std::optional<time_point>{}}) {
        auto s = open_store(sample, now ? for_supplied_clocks : 0h);
        s->allow("k", ten, {.cost = 10, .now = now});
        const auto before = picture(name_of(ten, "k"));
        BOOST_REQUIRE(before.first.has_value());
        const auto then = now ? std::optional{*now + 1us} : now;
        for (int i = 0; i < 3; ++i) {
            BOOST_TEST(s->allow("k", ten, {.cost = 5, .now = then}).outcome == outcome::denied);
            BOOST_TEST(s->allow("k", ten, {.cost = 11, .now = then}).outcome == outcome::never);
            BOOST_TEST(s->allow("k", ten, {.cost = 9, .at_least = 5, .now = then}).granted == 0);
            s->peek("k", ten, {.now = then});
        }
        BOOST_TEST((picture(name_of(ten, "k")) == before));
    }
}

BOOST_DATA_TEST_CASE(P3_neither_a_denial_nor_a_peek_nor_a_refund_makes_a_key, every_redis()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 11, .now = at(0)});
    s->allow("k", ten, {.cost = 0, .now = at(0)});
    s->peek("k", ten, {.now = at(0)});
    s->refund("k", ten, {.cost = 3, .now = at(0)});
    s->charge("k", ten, {.cost = 0, .now = at(0)});
    s->reset("k", ten, {.now = at(0)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(P4_after_any_call_a_key_outlives_its_state_and_ends_in_time, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", gcra(10, 1s).burst(100).named("a"), gcra(1000, 1s).burst(5000).named("b"),
                   token_bucket(70, 1, 1s).named("c").shadow()};
    std::mt19937_64 random{4};
    constexpr asked_verb verbs[] = {asked_verb::allow,  asked_verb::allow,  asked_verb::peek,
                                    asked_verb::charge, asked_verb::refund, asked_verb::reset};
    auto wrote = 0;
    for (int i = 0; i < 400; ++i) {
        const auto verb = verbs[random() % (i % 50 == 0 ? 6 : 5)];
        const auto cost = static_cast<std::int64_t>(random() % 30);
        const auto got = s->ask(verb, "k", p, {.cost = cost});
        BOOST_REQUIRE(!got.ec);
        const auto recovery = longest_reset(got.result);
        const auto lives = look().pttl(name_of(p, "k"));
        const auto looked = look().time();
        if (recovery == 0) {
            BOOST_TEST(lives == -2);
            continue;
        }
        ++wrote;
        const auto recovered = got.result.server_time.time_since_epoch().count() + recovery;
        BOOST_TEST(lives > 0);
        BOOST_TEST(lives * 1000 <= 2 * recovery + second);
        BOOST_TEST(looked + lives * 1000 >= recovered);
    }
    BOOST_TEST(wrote > 200);
}

// Were it written in place, its end would be too late for what is left of the debt.
BOOST_DATA_TEST_CASE(P4_after_a_refund_the_end_of_a_key_is_that_of_the_smaller_debt,
                     every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", gcra(10, 1s).burst(100)};
    s->charge("k", p, {.cost = 400});
    s->refund("k", p, {.cost = 200});
    BOOST_TEST(look().pttl(name_of(p, "k")) <= 39'100);
}

BOOST_DATA_TEST_CASE(P4_even_the_shortest_debt_has_a_key_with_an_end, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy quick{"quick", gcra(1'000'000, 1s)};
    s->allow("k", quick);
    const auto lives = look().pttl(name_of(quick, "k"));
    BOOST_TEST(lives > 0);
    BOOST_TEST(lives <= 1000);
}

BOOST_DATA_TEST_CASE(a_small_charge_rewrites_its_value_in_place_and_a_large_one_moves_its_end,
                     every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", gcra(100, 1s).burst(10'000)};
    const auto name = name_of(p, "k");
    s->allow("k", p, {.cost = 1000});
    const auto first = picture(name);
    s->allow("k", p, {.cost = 1});
    const auto second_picture = picture(name);
    BOOST_TEST(second_picture.second == first.second);
    BOOST_TEST((second_picture.first != first.first));
    const auto d = s->allow("k", p, {.cost = 1000});
    BOOST_TEST(picture(name).second * 1000 >=
               d.server_time.time_since_epoch().count() + d.reset_after.count());
}

BOOST_DATA_TEST_CASE(a_state_that_has_recovered_is_deleted, every_redis()) {
    auto s = open_store(sample);
    s->allow("k", ten, {.cost = 4, .now = at(0)});
    BOOST_TEST(look().dbsize() == 1);
    s->refund("k", ten, {.cost = 4, .now = at(0)});
    BOOST_TEST(look().dbsize() == 0);
    s->allow("k", ten, {.cost = 4, .now = at(0)});
    s->reset("k", ten, {.now = at(0)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(the_least_time_to_live_that_was_configured_holds, every_redis()) {
    auto s = open_store(sample, 30min);
    s->allow("k", ten, {.now = at(0)});
    const auto lives = look().pttl(name_of(ten, "k"));
    BOOST_TEST(lives <= 30 * 60 * 1000);
    BOOST_TEST(lives > 29 * 60 * 1000);
}

BOOST_DATA_TEST_CASE(a_value_of_another_type_is_a_conflict_and_stays_untouched, every_redis()) {
    auto s = open_store(sample);
    const auto name = name_of(ten, "k");
    look().must({"RPUSH", name, "somebody's", "list"});
    const auto before = picture(name);
    for (const auto verb : {asked_verb::allow, asked_verb::peek, asked_verb::charge,
                            asked_verb::refund, asked_verb::reset})
        for (const std::int64_t cost : {0, 1, 11})
            BOOST_TEST(
                (s->ask(verb, "k", ten, {.cost = cost, .now = at(0)}).ec == errc::key_conflict));
    BOOST_TEST((picture(name) == before));
    look().must({"DEL", name});
    BOOST_TEST(s->allow("k", ten, {.now = at(0)}).remaining == 9);
}

BOOST_DATA_TEST_CASE(a_corrupt_value_is_read_as_a_full_bucket_and_repaired, every_redis()) {
    auto s = open_store(sample);
    const auto name = name_of(ten, "k");
    s->charge("k", ten, {.cost = 20, .now = at(0)});
    const auto good = look().get(name).value();
    auto not_a_number = good;
    not_a_number.replace(20, 8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    for (const auto& bad : {std::string{}, std::string{"x"}, std::string(44, '\xff'),
                            std::string(400, '\0'), good + "x", good.substr(0, 43), not_a_number}) {
        look().must({"SET", name, bad});
        BOOST_TEST(s->peek("k", ten, {.now = at(0)}).remaining == 10);
        BOOST_TEST(look().get(name).value() == bad); // a peek repairs nothing
        BOOST_TEST(s->allow("k", ten, {.cost = 3, .now = at(0)}).remaining == 7);
        BOOST_TEST(look().get(name).value().size() == good.size());
        BOOST_TEST(look().pttl(name) > 0); // it had no end
        BOOST_TEST(s->allow("k", ten, {.cost = 8, .now = at(0)}).outcome == outcome::denied);
    }
    look().must({"SET", name, "x"});
    s->allow("k", ten, {.cost = 0, .now = at(0)});
    BOOST_TEST(look().dbsize() == 0);
}

BOOST_DATA_TEST_CASE(a_script_flush_between_two_calls_loses_and_doubles_nothing, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", gcra(1, 1s).burst(100)};
    for (int i = 1; i <= 20; ++i) {
        if (i % 2 == 0)
            look().must({"SCRIPT", "FLUSH"});
        BOOST_TEST(s->allow("k", p, {.now = at(0)}).remaining == 100 - i);
    }
}

BOOST_DATA_TEST_CASE(P10_hostile_keys_have_the_names_that_were_agreed, every_redis()) {
    auto s = open_store(sample);
    auto expected = std::vector<std::string>{};
    for (const auto& key : {std::string{}, std::string{"ann"}, std::string("\0\r\n}{", 5),
                            std::string{"*1\r\n$8\r\nFLUSHALL\r\n"}, std::string(256, '}'),
                            std::string(257, 'x'), std::string(limits::max_key_bytes, '\r')}) {
        s->allow(key, ten, {.now = at(0)});
        expected.push_back(name_of(ten, key));
    }
    std::ranges::sort(expected);
    const auto names = look().keys();
    BOOST_TEST(names == expected, boost::test_tools::per_element());
    for (const auto& name : names)
        BOOST_TEST(name.size() < 300U);
}

/// Sets a number in a value, as if the debt was repaid.
void set_number(const std::string& name, std::size_t place, std::int64_t number) {
    const auto value = static_cast<double>(number);
    auto bytes = std::string(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    look().must({"SETRANGE", name, std::to_string(place), bytes});
}

/// The last recovers most slowly: a key has to live as long as it needs.
[[nodiscard]] policy buckets(std::size_t size) {
    constexpr std::string_view names[] = {"a", "b", "c", "d", "e"};
    auto rules = std::vector<rule>{};
    for (std::size_t i = 1; i < size; ++i)
        rules.push_back(gcra(1'000, 1'000h).named(names[i]));
    rules.push_back(gcra(2'000, 4'000h).named(names[0]));
    return policy{"buckets" + std::to_string(size), rules};
}

BOOST_DATA_TEST_CASE(P4_an_end_that_is_too_far_is_set_anew_by_whoever_writes_next, every_redis()) {
    auto s = open_store(sample, 0ms);
    constexpr std::int64_t hour = 3600 * second;
    const policy window{"window", fixed_window(1'000, 760h).from_first()};
    for (const auto& p : {buckets(1), buckets(2), buckets(3), buckets(5), window})
        for (const auto verb : {asked_verb::allow, asked_verb::charge}) {
            s->reset("k", p);
            s->charge("k", p, {.cost = 400});
            const auto name = name_of(p, "k");
            const auto t = 8 + 20 * p.size();
            if (p.name() == window.name())
                set_number(name, t, look().time() + 300 * hour);
            else
                for (std::size_t i = 0; i < p.size(); ++i)
                    set_number(name, t + 16 * i + 8, 300 * hour);
            const auto got = s->ask(verb, "k", p, {.cost = 1});
            BOOST_REQUIRE(!got.ec);
            const auto lives = look().pttl(name) * 1'000;
            BOOST_TEST_CONTEXT(p.name()) {
                BOOST_TEST(lives <= 2 * longest_reset(got.result) + second);
                BOOST_TEST(lives >= longest_reset(got.result));
            }
        }
}

BOOST_DATA_TEST_CASE(P4_an_end_outside_its_bounds_is_set_anew_by_whoever_writes_next,
                     every_redis()) {
    auto s = open_store(sample, 0ms);
    const std::vector<policy> policies{
        buckets(1),
        buckets(2),
        buckets(3),
        buckets(5),
        policy{"window", fixed_window(1'000, 760h).from_first()},
        policy{"counter", sliding_window(1'000, 760h)},
        policy{"mixed", gcra(1'000, 1'000h), sliding_window(1'000, 760h)}};
    for (const auto& p : policies) {
        const auto name = name_of(p, "k");
        const auto needs = longest_reset(s->charge("k", p, {.cost = 400}));
        for (const auto lives : {10 * second, needs * 12 / 5}) {
            set_number(name, 0, look().time() + lives);
            look().must({"PEXPIRE", name, std::to_string(lives / 1'000 + 1'000)});
            const auto d = s->allow("k", p);
            const auto left = look().pttl(name) * 1'000;
            BOOST_TEST(left >= longest_reset(d), p.name());
            BOOST_TEST(left <= 2 * longest_reset(d) + second, p.name());
        }
    }
}

// The bound falls by a microsecond in each: what promises to end where it is now is just beyond it.
BOOST_DATA_TEST_CASE(P4_an_end_just_beyond_its_bound_is_set_anew, every_redis()) {
    auto s = open_store(sample, 0ms);
    const policy p{"p", gcra(1'000'000, 1'000h)};
    const auto name = name_of(p, "k");
    const auto token = 3'600'000;
    auto d = s->charge("k", p, {.cost = 400'000});
    const auto time_of = [](const decision& said) {
        return said.server_time.time_since_epoch().count();
    };
    for (int i = 0; i < 20; ++i) {
        const auto recovered = time_of(d) + longest_reset(d) + token;
        const auto promise = 2 * recovered - look().time() + second;
        set_number(name, 0, promise);
        look().must({"PEXPIREAT", name, std::to_string(promise / 1'000 + 1)});
        d = s->allow("k", p);
        auto now_promised = 0.0;
        std::memcpy(&now_promised, look().get(name).value().data(), sizeof now_promised);
        BOOST_TEST(now_promised <= static_cast<double>(time_of(d) + 2 * longest_reset(d) + second));
    }
}

BOOST_DATA_TEST_CASE(P10_a_log_and_a_sketch_have_the_names_that_were_agreed, every_redis()) {
    auto s = open_store(sample);
    const policy p{"p", sliding_log(5, 1s), distinct(5, 1s), fixed_window(5, 1s)};
    auto expected = std::vector<std::string>{};
    for (const auto& key :
         {std::string{"ann"}, std::string("\0\r\n}{", 5), std::string(257, 'x')}) {
        s->allow(key, p, {.member = "m", .now = at(0)});
        for (const auto& name : {name_of(p, key), log_name_of(p, key), sketch_name_of(p, key)})
            expected.push_back(name);
    }
    std::ranges::sort(expected);
    BOOST_TEST(look().keys() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(P10_all_state_of_a_key_lies_in_one_slot_whatever_its_bytes) {
    redis_server node{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    auto ask = node.connect();
    const auto slot = [&ask](std::string_view name) {
        return ask.must({"CLUSTER", "KEYSLOT", name}).integer;
    };
    std::mt19937_64 random{10};
    const policy other{"other", gcra(1, 1s)};
    for (int i = 0; i < 500; ++i) {
        auto key = std::string{i % 2 == 0 ? "" : "tag="};
        for (auto left = random() % 300; left > 0; --left)
            key += "{}\r\n\0:a;"[random() % 8];
        const auto place = test::tag_of(key);
        const auto expected = slot("{" + std::string{test::usual_tags.text(place)} + "}");
        BOOST_TEST(slot(name_of(ten, key)) == expected);
        BOOST_TEST(slot(name_of(other, key)) == expected);
        BOOST_TEST(slot(log_name_of(ten, key)) == expected);
        BOOST_TEST(slot(sketch_name_of(ten, key)) == expected);
        BOOST_TEST(expected / 256 == static_cast<std::int64_t>(place)); // spread evenly
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

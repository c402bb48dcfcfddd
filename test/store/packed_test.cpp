// SPDX-License-Identifier: BSL-1.0
//
// Packed states: their hashes, generations and TTLs, unsupported calls, and foreign values. The
// rest of the suite tests that their decisions equal those of other storage.

#include "stores.hpp"

#include <colimit/limiter.hpp>
#include <hash/sha256.hpp>
#include <redis/protocol/key.hpp>
#include <support/script_only.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(packed)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

constexpr auto resp3 = store_kind::redis_resp3;

/// Recovers within ten seconds: so long is a generation.
const policy ten = policy{"p", gcra(1, 1s).burst(10)}.with_storage(storage::shared_hash);
constexpr auto generation = 10 * second;

[[nodiscard]] std::string hash_of(std::string_view key, std::string_view which) {
    auto name = std::string{};
    redis::append_shard(name, config{}.prefix, ten.name(), test::shard_of(key));
    return name.append(which);
}

[[nodiscard]] bool has(std::string_view key, std::string_view which) {
    return look().must({"HEXISTS", hash_of(key, which), "k:" + std::string{key}}).integer == 1;
}

[[nodiscard]] std::vector<std::string> keys_of_a_row(std::size_t count) {
    auto keys = std::vector<std::string>{};
    for (int i = 0; keys.size() < count; ++i)
        if (test::shard_of(std::to_string(i)) == 3)
            keys.push_back(std::to_string(i));
    return keys;
}

BOOST_AUTO_TEST_CASE(a_key_is_a_field_of_one_of_eight_hashes) {
    auto s = open_store(resp3);
    for (int i = 0; i < 1000; ++i)
        s->allow(std::to_string(i), ten, {.now = at(0)});
    BOOST_TEST(look().dbsize() == 8);
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST(has(std::to_string(i), "new"));
}

BOOST_AUTO_TEST_CASE(a_long_key_is_a_field_of_its_digest) {
    auto s = open_store(resp3);
    const auto key = std::string(257, 'y');
    s->allow(key, ten, {.now = at(0)});
    const auto digest = hash::sha256_hex(key);
    const auto field = "h:" + std::string{digest.data(), digest.size()};
    BOOST_TEST(look().must({"HEXISTS", hash_of(key, "new"), field}).integer == 1);
}

BOOST_AUTO_TEST_CASE(the_first_write_after_a_generation_begins_a_new_hash) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.cost = 10, .now = at(0)});
    s->allow("a", ten, {.now = at(generation - 1)});
    BOOST_TEST(look().must({"EXISTS", hash_of("a", "old")}).integer == 0);
    s->charge("a", ten, {.cost = 5, .now = at(generation)});
    BOOST_TEST(has("a", "new"));
    BOOST_TEST(has("a", "old"));
    BOOST_TEST(s->peek("a", ten, {.now = at(generation)}).remaining == 4);
}

BOOST_AUTO_TEST_CASE(what_is_in_the_old_hash_counts_until_it_has_recovered) {
    auto s = open_store(resp3);
    s->allow("first", ten, {.now = at(0)});
    s->allow("a", ten, {.cost = 10, .now = at(generation - 1)});
    for (const auto* key : {"first", "a"}) // whichever row they are in
        s->charge(std::string{key} + "'s neighbour", ten, {.now = at(generation)});
    s->charge("first", ten, {.now = at(generation)});
    const auto d = s->allow("a", ten, {.now = at(generation)});
    BOOST_TEST(!d.allowed());
    BOOST_TEST(d.retry_after.count() == second - 1);
    BOOST_TEST(s->allow("a", ten, {.cost = 10, .now = at(2 * generation - 1)}).allowed());
}

BOOST_AUTO_TEST_CASE(keys_that_are_asked_no_more_are_gone_after_two_generations) {
    auto s = open_store(resp3);
    for (int i = 0; i < 100; ++i)
        s->allow("then " + std::to_string(i), ten, {.now = at(0)});
    for (int turn = 1; turn <= 2; ++turn)
        for (int i = 0; i < 100; ++i)
            s->allow("now " + std::to_string(i), ten, {.now = at(turn * generation)});
    auto fields = std::int64_t{0};
    for (const auto& name : look().keys())
        fields += look().must({"HLEN", name}).integer;
    BOOST_TEST(fields == 2 * 100 + 16); // and the heads
}

BOOST_AUTO_TEST_CASE(a_denial_and_a_peek_write_nothing_even_when_a_generation_is_over) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.cost = 10, .now = at(0)});
    s->allow("a", ten, {.cost = 9, .now = at(generation - 1)});
    const auto before = take_picture();
    BOOST_TEST(!s->allow("a", ten, {.cost = 9, .now = at(generation + 5)}).allowed());
    s->peek("a", ten, {.now = at(generation + 5)});
    s->allow("nobody", ten, {.cost = 11, .now = at(generation + 5)});
    BOOST_TEST((take_picture() == before));
}

BOOST_AUTO_TEST_CASE(P4_a_hash_outlives_what_is_written_to_it_and_ends_in_time) {
    auto s = open_store(resp3, 0ms);
    s->allow("a", ten);
    const auto lives = look().pttl(hash_of("a", "new"));
    BOOST_TEST(lives > 19'000);
    BOOST_TEST(lives <= 21'000);
    const auto end = look().must({"PEXPIRETIME", hash_of("a", "new")}).integer;
    s->allow("a", ten);
    BOOST_TEST(look().must({"PEXPIRETIME", hash_of("a", "new")}).integer == end);
}

BOOST_AUTO_TEST_CASE(a_limit_made_slower_has_its_hash_live_longer) {
    auto s = open_store(resp3, 0ms);
    s->allow("a", ten);
    const auto slower = policy{"p", gcra(1, 1min).burst(10)}.with_storage(storage::shared_hash);
    BOOST_TEST(s->allow("a", slower).remaining == 8);
    BOOST_TEST(look().pttl(hash_of("a", "new")) > 20 * 60'000 - 10'000);
}

/// Bytes of the key's state.
[[nodiscard]] std::int64_t size_of(std::string_view key, std::string_view which = "new") {
    return look().must({"HSTRLEN", hash_of(key, which), "k:" + std::string{key}}).integer;
}

constexpr std::int64_t brief = 16;
constexpr std::int64_t whole = 44;

BOOST_AUTO_TEST_CASE(a_state_of_one_rule_is_two_numbers_but_for_a_counter) {
    const auto size = [](const policy& p) {
        auto s = open_store(resp3);
        s->allow("a", p.with_storage(storage::shared_hash), {.now = at(0)});
        return size_of("a");
    };
    for (const auto& r :
         {gcra(5, 1s), token_bucket(5, 1, 1s).stepwise(), token_bucket(5, 1, 1s).aligned(),
          token_bucket(5, 1, 1s).initially(3), fixed_window(5, 1s),
          fixed_window(5, 1s).from_first(), calendar(5, calendar_unit::day)})
        BOOST_TEST(size(policy{"p", r}) == brief, to_string(r));
    BOOST_TEST(size(policy{"p", sliding_window(5, 1s)}) == whole);
    BOOST_TEST(size(policy{"p", gcra(5, 1s), fixed_window(5, 1h)}) == whole + 36);
    BOOST_TEST(size(policy{"p", gcra(5, 1s)}.prevent_duplicate(1s)) == whole + 36);
}

BOOST_AUTO_TEST_CASE(states_keep_the_numbers_that_they_were_written_with) {
    auto s = open_store(resp3);
    const auto twice = policy{"p", gcra(2, 1s).burst(20)}.with_storage(storage::shared_hash);
    s->allow("a", ten, {.cost = 4, .now = at(0)});
    s->allow("b", ten, {.cost = 4, .now = at(0)});
    BOOST_TEST(s->allow("a", twice, {.now = at(0)}).remaining == 15);
    BOOST_TEST(size_of("a") == whole); // in a hash of other numbers
    BOOST_TEST(size_of("b") == brief);
    BOOST_TEST(s->peek("b", twice, {.now = at(0)}).remaining == 16);
    BOOST_TEST(s->allow("a", ten, {.now = at(0)}).remaining == 4);
    BOOST_TEST(size_of("a") == brief);
}

BOOST_AUTO_TEST_CASE(a_new_generation_has_the_numbers_of_who_begins_it) {
    auto s = open_store(resp3);
    const auto twice = policy{"p", gcra(2, 1s).burst(20)}.with_storage(storage::shared_hash);
    s->allow("a", ten, {.now = at(0)});
    s->allow("a", ten, {.cost = 10, .now = at(generation - 1)});
    // Of ten tokens a microsecond came back, which is less than one.
    BOOST_TEST(s->allow("a", twice, {.now = at(generation)}).remaining == 9);
    BOOST_TEST(size_of("a") == whole); // the hash was one of other numbers when it was read
    BOOST_TEST(size_of("a", "old") == brief);
    BOOST_TEST(s->allow("a", twice, {.now = at(generation)}).remaining == 8);
    BOOST_TEST(size_of("a") == brief);
    // To who still has the numbers of before, twelve are owed of ten.
    BOOST_TEST(s->peek("a", ten, {.now = at(generation)}).remaining == 0);
}

BOOST_AUTO_TEST_CASE(a_state_in_the_old_hash_has_the_numbers_of_that) {
    auto s = open_store(resp3);
    const auto twice = policy{"p", gcra(2, 1s).burst(20)}.with_storage(storage::shared_hash);
    const auto keys = keys_of_a_row(2);
    for (const auto& key : keys)
        s->allow(key, ten, {.now = at(0)});
    s->allow(keys[0], ten, {.cost = 10, .now = at(generation - 1)});
    s->allow(keys[1], twice, {.now = at(generation)});
    BOOST_TEST(size_of(keys[0], "old") == brief);
    BOOST_TEST(s->peek(keys[0], twice, {.now = at(generation)}).remaining == 10);
    BOOST_TEST(s->allow(keys[0], twice, {.now = at(generation)}).remaining == 9);
    BOOST_TEST(size_of(keys[0]) == brief);
}

BOOST_AUTO_TEST_CASE(what_is_lost_with_its_field_is_begun_anew) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.cost = 10, .now = at(0)});
    s->reset("a", ten, {.now = at(1)});
    BOOST_TEST(!has("a", "new"));
    BOOST_TEST(s->allow("a", ten, {.cost = 10, .now = at(1)}).allowed());
    s->refund("a", ten, {.cost = 10, .now = at(1)});
    BOOST_TEST(!has("a", "new"));
}

BOOST_AUTO_TEST_CASE(a_reset_does_not_bring_back_what_the_old_hash_has) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.now = at(0)});
    s->charge("a", ten, {.cost = 10, .now = at(generation - 1)});
    s->charge("a", ten, {.now = at(generation)});
    BOOST_TEST(has("a", "old"));
    s->reset("a", ten, {.now = at(generation)});
    BOOST_TEST(!has("a", "old"));
    BOOST_TEST(s->allow("a", ten, {.cost = 10, .now = at(generation)}).allowed());
}

BOOST_DATA_TEST_CASE(charge_stops_at_the_limit, every_store()) {
    auto s = open_store(sample);
    s->charge("a", ten, {.cost = 1000, .now = at(0)});
    BOOST_TEST(s->peek("a", ten, {.now = at(0)}).rules[0].balance == 0);
    BOOST_TEST(s->allow("a", ten, {.cost = 10, .now = at(generation)}).allowed());
}

BOOST_DATA_TEST_CASE(a_key_is_not_blocked_and_several_are_not_asked_at_once, every_limiter()) {
    auto s = open_store(sample);
    BOOST_TEST((s->ask_block("a", ten, 1s, {}).ec == errc::invalid_argument));
    auto checks = std::vector<check_item>{{.key = "a", .policy = ten}, {.key = "b", .policy = ten}};
    BOOST_TEST((s->allow_all(checks).ec == errc::invalid_argument));
    BOOST_TEST((s->allow_many(checks) == error_code{}));
    BOOST_TEST(checks[1].result.remaining == 9);
}

BOOST_DATA_TEST_CASE(another_type_of_value_in_a_hashs_place_fails_its_keys,
                     boost::unit_test::data::make({"new", "old"}), which) {
    auto s = open_store(resp3);
    const auto name = hash_of("a", which);
    look().must({"SET", name, "somebody's"});
    BOOST_TEST((s->ask(asked_verb::allow, "a", ten, {.now = at(0)}).ec == errc::key_conflict));
    BOOST_TEST((s->ask(asked_verb::reset, "a", ten, {.now = at(0)}).ec == errc::key_conflict));
    BOOST_TEST((look().get(name) == "somebody's"));
    look().must({"DEL", name});
    BOOST_TEST(s->allow("a", ten, {.cost = 10, .now = at(0)}).allowed());
}

BOOST_AUTO_TEST_CASE(rows_with_somebodys_hashes_fail_and_those_around_them_do_not) {
    auto s = open_store(resp3);
    const auto is_in_the_way = [](std::string_view key) { return test::shard_of(key) % 3 == 1; };
    auto keys = std::vector<std::string>{};
    for (int i = 0; i < 64; ++i)
        keys.push_back(std::to_string(i));
    auto checks = std::vector<check_item>{};
    for (const auto& key : keys) {
        if (is_in_the_way(key))
            look().must({"SET", hash_of(key, "new"), "somebody's"});
        checks.push_back({.key = key, .policy = ten, .options = {.now = at(0)}});
    }
    BOOST_TEST(!s->allow_many(checks));
    for (std::size_t i = 0; i < checks.size(); ++i) {
        BOOST_TEST((checks[i].ec == errc::key_conflict) == is_in_the_way(keys[i]));
        BOOST_TEST(checks[i].result.remaining == (is_in_the_way(keys[i]) ? 0 : 9));
    }
}

BOOST_AUTO_TEST_CASE(what_is_none_of_ours_is_not_deleted_when_a_generation_ends) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.cost = 2, .now = at(0)});
    look().must({"SET", hash_of("a", "old"), "somebody's"});
    BOOST_TEST(
        (s->ask(asked_verb::allow, "a", ten, {.now = at(generation)}).ec == errc::key_conflict));
    BOOST_TEST((look().get(hash_of("a", "old")) == "somebody's"));
    BOOST_TEST(has("a", "new"));
}

BOOST_AUTO_TEST_CASE(a_write_that_the_server_refuses_fails_those_who_wanted_it,
                     *colimit::test::script_only) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.now = at(0)});
    look().must({"ACL", "SETUSER", "default", "-hset"});
    const auto refused = s->ask(asked_verb::allow, "a", ten, {.now = at(1)});
    const auto limited = s->ask(asked_verb::allow, "a", ten, {.cost = 11, .now = at(1)});
    look().must({"ACL", "SETUSER", "default", "+hset"});
    BOOST_TEST((refused.ec == errc::auth_failed));
    BOOST_TEST(!limited.result.allowed());
    BOOST_TEST(s->peek("a", ten, {.now = at(1)}).remaining == 9);
}

BOOST_AUTO_TEST_CASE(a_refused_write_fails_all_keys_of_its_row_that_wanted_it_and_no_others,
                     *colimit::test::script_only) {
    auto s = open_store(resp3);
    const auto keys = keys_of_a_row(7);
    s->allow(keys[2], ten, {.cost = 10, .now = at(0)});
    auto checks = std::vector<check_item>{};
    for (const auto& key : keys)
        checks.push_back({.key = key, .policy = ten, .options = {.now = at(0)}});
    look().must({"ACL", "SETUSER", "default", "-hset"});
    BOOST_TEST(!s->allow_many(checks));
    look().must({"ACL", "SETUSER", "default", "+hset"});
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const auto expected = i == 2 ? error_code{} : make_error_code(errc::auth_failed);
        BOOST_TEST((checks[i].ec == expected), "key " << i << ": " << checks[i].ec.message());
    }
}

BOOST_AUTO_TEST_CASE(a_head_that_somebody_else_wrote_begins_a_generation) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.now = at(0)});
    look().must({"HSET", hash_of("a", "new"), "", "nonsense"});
    BOOST_TEST(s->allow("a", ten, {.now = at(1)}).remaining == 8);
    BOOST_TEST(look().must({"HGET", hash_of("a", "new"), ""}).text.size() == 80U);
    BOOST_TEST(look().must({"EXISTS", hash_of("a", "old")}).integer == 0);
}

BOOST_AUTO_TEST_CASE(a_clock_that_was_set_back_begins_a_generation_with_what_is_there) {
    auto s = open_store(resp3);
    s->allow("a", ten, {.cost = 4, .now = at(100 * second)});
    BOOST_TEST(s->allow("a", ten, {.now = at(0)}).remaining == 5);
    BOOST_TEST(look().must({"EXISTS", hash_of("a", "old")}).integer == 0);
    s->allow("a", ten, {.cost = 5, .now = at(generation)});
    BOOST_TEST(has("a", "old"));
}

/// Two versions whose generations are an hour and a second.
const policy slow = policy{"p", gcra(10, 1h)}.with_storage(storage::shared_hash);
const policy quick = policy{"p", gcra(10, 1s)}.with_storage(storage::shared_hash);

BOOST_AUTO_TEST_CASE(a_version_with_a_shorter_generation_keeps_what_the_other_has_stored) {
    auto s = open_store(resp3);
    const auto keys = keys_of_a_row(2);
    auto granted = std::int64_t{0};
    for (int i = 0; i < 240; ++i) {
        const auto now = at(i * second / 2);
        granted += s->allow(keys[0], slow, {.now = now}).granted;
        s->allow(keys[1], quick, {.now = now});
    }
    BOOST_TEST(granted == 10);
}

BOOST_AUTO_TEST_CASE(a_generation_is_short_again_when_nothing_needs_the_longer_one) {
    auto s = open_store(resp3);
    const auto keys = keys_of_a_row(2);
    s->allow(keys[0], slow, {.now = at(0)});
    s->allow(keys[1], quick, {.now = at(second)});
    BOOST_TEST(!has(keys[0], "old"));
    const auto first = 3600 * second; // the slow version's hash becomes the old one
    s->allow(keys[1], quick, {.now = at(first)});
    BOOST_TEST(has(keys[0], "old"));
    s->allow(keys[1], quick, {.now = at(first + 2 * second)});
    BOOST_TEST(has(keys[0], "old"));
    s->allow(keys[1], quick, {.now = at(2 * first)});
    BOOST_TEST(!has(keys[0], "old"));
    s->allow(keys[0], quick, {.now = at(2 * first + second)});
    s->allow(keys[1], quick, {.now = at(2 * first + 2 * second)});
    BOOST_TEST(has(keys[0], "old"));
    s->allow(keys[1], quick, {.now = at(2 * first + 3 * second)});
    BOOST_TEST(!has(keys[0], "old"));
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Policies whose states are packed, and the bytes of their batches.

#include <colimit/error.hpp>
#include <colimit/policy.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_check.hpp>
#include <redis/protocol/key.hpp>
#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/refusal.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(packed_states)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

[[nodiscard]] policy packed(const rule& r) {
    return policy{"p", r}.with_storage(storage::shared_hash);
}

/// In seconds.
[[nodiscard]] std::int64_t generation_of(const policy& p) {
    return detail::access::data(p)->compiled.generation / 1'000'000;
}

/// The hashes of a key's shard, by the limiter's prefix "t".
[[nodiscard]] std::string hashes_of(std::string_view key, std::string_view which) {
    auto name = std::string{};
    redis::append_shard(name, "t", "p", test::shard_of(key));
    return name.append(which);
}

/// A key of each shard, in the order of the shards.
[[nodiscard]] std::array<std::string, redis::shard_count> key_of_each_shard() {
    auto keys = std::array<std::string, redis::shard_count>{};
    for (auto left = keys.size(), i = std::size_t{0}; left > 0; ++i) {
        const auto key = "key " + std::to_string(i);
        auto& found = keys[test::shard_of(key)];
        left -= found.empty() ? 1U : 0U;
        found = found.empty() ? key : found;
    }
    return keys;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_generation_is_what_the_slowest_rule_takes_to_recover) {
    BOOST_TEST(generation_of(packed(gcra(1, 1s).burst(10))) == 10);
    BOOST_TEST(generation_of(packed(token_bucket(10, 3, 1min).stepwise())) == 4 * 60);
    BOOST_TEST(generation_of(packed(fixed_window(5, 1h))) == 3600);
    BOOST_TEST(generation_of(packed(sliding_window(5, 1h))) == 2 * 3600);
    BOOST_TEST(generation_of(packed(calendar(5, calendar_unit::month))) == 31 * 86'400);
    BOOST_TEST(generation_of(policy{"p", gcra(1, 1s), fixed_window(5, 1min)}.with_storage(
                   storage::shared_hash)) == 60);
    BOOST_TEST(generation_of(packed(gcra(1, 1s)).prevent_duplicate(90s)) == 90);
    BOOST_TEST(detail::access::data(policy("p", gcra(1, 1s)))->compiled.generation == 0);
}

BOOST_AUTO_TEST_CASE(a_bucket_that_starts_with_less_is_remembered_until_it_is_as_good_as_new) {
    BOOST_TEST(generation_of(packed(gcra(1, 1s).burst(10).initially(0))) == 20);
    BOOST_TEST(generation_of(packed(gcra(1, 1s).burst(10).initially(10))) == 20);
}

BOOST_AUTO_TEST_CASE(nobody_owes_more_than_the_limit) {
    for (const auto& r : {gcra(3, 1s), gcra(3, 1s).stepwise(), fixed_window(5, 1h),
                          sliding_window(5, 1h), calendar(5, calendar_unit::day)}) {
        const auto p = packed(r);
        BOOST_TEST(detail::access::data(p)->compiled.limits[0].debt_max ==
                   detail::access::data(p)->compiled.limits[0].debt_limit);
    }
    const auto held = packed(gcra(3, 1s)).prevent_duplicate(9s);
    BOOST_TEST(detail::access::data(held)->compiled.limits[1].debt_max == 9'000'000);
}

BOOST_AUTO_TEST_CASE(what_is_more_than_numbers_cannot_be_packed) {
    BOOST_TEST(test::refusal(errc::invalid_policy, [] { (void)packed(sliding_log(5, 1s)); }) ==
               "policy 'p', rule 1 'sliding_log': a sliding_log cannot be packed");
    BOOST_TEST(test::refusal(errc::invalid_policy, [] {
                   (void)policy{"p", gcra(5, 1s), distinct(5, 1s)}.with_storage(
                       storage::shared_hash);
               }) == "policy 'p', rule 2 'distinct': a distinct cannot be packed");
}

BOOST_AUTO_TEST_CASE(a_policy_says_how_it_is_stored) {
    const policy plain{"p", gcra(5, 1s)};
    BOOST_TEST((detail::access::options(plain).storage == storage::per_key));
    BOOST_TEST((detail::access::options(plain.with_storage(storage::shared_hash)).storage ==
                storage::shared_hash));
    BOOST_TEST((plain.with_storage(storage::shared_hash) != plain));
    BOOST_TEST((plain.with_storage(storage::shared_hash).with_storage(storage::per_key) == plain));
    BOOST_TEST(detail::access::data(plain.with_storage(storage::shared_hash))->identity !=
               detail::access::data(plain)->identity);
    BOOST_TEST(to_string(storage::per_key) == "per_key");
    BOOST_TEST(to_string(storage::shared_hash) == "shared_hash");
}

BOOST_AUTO_TEST_CASE(who_would_owe_for_longer_is_refused_with_the_reason) {
    const auto p = packed(gcra(5, 1s));
    const auto& plan = detail::access::data(p)->compiled;
    const auto block = detail::call_request{.verb = detail::verb::block, .cost = 1, .at_least = 1};
    BOOST_TEST(!detail::is_valid(block, plan));
    BOOST_TEST(detail::fault_message(block, plan) ==
               "policy: block keeps state for longer than packed storage does (expected a policy "
               "without storage::shared_hash)");
    BOOST_TEST(detail::is_valid({.verb = detail::verb::charge, .cost = 100, .at_least = 0}, plan));
}

BOOST_AUTO_TEST_CASE(keys_spread_evenly_over_the_shards) {
    auto shards = std::array<int, redis::shard_count>{};
    for (int i = 0; i < 80'000; ++i)
        ++shards[test::shard_of("user:" + std::to_string(i))];
    for (const auto n : shards) {
        BOOST_TEST(n > 9'000);
        BOOST_TEST(n < 11'000);
    }
}

BOOST_AUTO_TEST_CASE(a_shard_lies_in_a_slot_of_its_own) {
    auto name = std::string{};
    redis::append_shard(name, "colimit", "api", 3);
    BOOST_TEST(name == "colimit:{" + std::string{test::usual_tags.text(24)} + "}:api:");
}

BOOST_AUTO_TEST_CASE(a_batch_names_the_hashes_of_its_shards_and_the_fields_of_its_keys) {
    const auto p = packed(gcra(2, 1s));
    const auto keys = key_of_each_shard();
    auto batch = redis::script_batch{4};
    auto ops = std::deque<test::fake_operation>(4);
    batch.start(detail::access::data(p), detail::store_clock, 7);
    batch.add(ops[0], "t", keys[5]);
    batch.add(ops[1], "t", keys[2]);
    batch.add(ops[2], "t", keys[5]);
    batch.add(ops[3], "t", keys[7]);
    batch.drop(ops[3].index);
    auto out = std::string{};
    batch.encode(out, "0");
    const auto words = test::commands_of(std::move(out)).at(0);
    const auto expected = test::command{"4",
                                        hashes_of(keys[2], "new"),
                                        hashes_of(keys[2], "old"),
                                        hashes_of(keys[5], "new"),
                                        hashes_of(keys[5], "old"),
                                        detail::access::data(p)->wire,
                                        "7",
                                        "",
                                        "0",
                                        "\1\2",
                                        std::string("\1\0\1\0", 4),
                                        "k:" + keys[2],
                                        "k:" + keys[5]};
    BOOST_TEST((test::command{words.begin() + 2, words.end()} == expected));
}

/// A batch of two calls on keys of two shards, the second one's first.
struct two_shards {
    two_shards() {
        const auto p = packed(gcra(2, 1s));
        const auto keys = key_of_each_shard();
        batch.start(detail::access::data(p), 5'000'000, 7);
        batch.add(later, "t", keys[6]);
        batch.add(sooner, "t", keys[1]);
        auto out = std::string{};
        batch.encode(out, "0");
    }

    /// Returns whether it is a reply to the batch.
    [[nodiscard]] bool reads(const std::string& bytes) {
        auto reader = redis::resp::decoder{};
        BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
        const auto is_one = batch.read_reply(reader, bytes).has_value();
        batch.release([](detail::operation& op) { op.is_held = false; });
        return is_one;
    }

    redis::script_batch batch{2};
    test::fake_operation later{};
    test::fake_operation sooner{};
};

BOOST_FIXTURE_TEST_CASE(a_reply_has_the_keys_in_the_order_of_their_shards, two_shards) {
    BOOST_TEST(reads(test::script_reply{.values = {std::nullopt, std::nullopt},
                                        .nonce = "7",
                                        .granted = 1,
                                        .statuses = ".c",
                                        .shards = {1, 1}}
                         .bytes()));
    BOOST_TEST(sooner.result.remaining == 1);
    BOOST_TEST((later.ec == errc::key_conflict));
}

BOOST_FIXTURE_TEST_CASE(a_brief_value_has_the_numbers_of_the_policy, two_shards) {
    const double numbers[] = {4'999'999, 1'000'000}; // a microsecond before, one of two
    const auto brief = std::string(reinterpret_cast<const char*>(numbers), sizeof numbers);
    BOOST_TEST(reads(test::script_reply{
        .values = {brief, std::nullopt}, .nonce = "7", .granted = 2, .shards = {1, 1}}
                         .bytes()));
    BOOST_TEST(sooner.result.remaining == 0);
    BOOST_TEST(later.result.remaining == 1);
}

BOOST_AUTO_TEST_CASE(shards_of_several_keys_follow_each_other) {
    const auto p = packed(gcra(2, 1s));
    auto batch = redis::script_batch{64};
    auto ops = std::deque<test::fake_operation>(64);
    auto shards = std::array<std::size_t, redis::shard_count>{};
    batch.start(detail::access::data(p), 5'000'000, 7);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        batch.add(ops[i], "t", std::to_string(i));
        ++shards[test::shard_of(std::to_string(i))];
    }
    auto out = std::string{};
    batch.encode(out, "0");
    auto reply = test::script_reply{.nonce = "7", .granted = 64};
    reply.values.resize(64);
    reply.shards.assign(shards.begin(), shards.end());
    BOOST_REQUIRE(std::ranges::min(shards) > 1U);
    auto reader = redis::resp::decoder{};
    const auto bytes = reply.bytes();
    BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
    BOOST_TEST(batch.read_reply(reader, bytes).has_value());
    batch.release([](detail::operation& op) { op.is_held = false; });
    for (const auto& op : ops)
        BOOST_TEST(op.result.remaining == 1);
}

BOOST_AUTO_TEST_CASE(a_reply_of_other_shards_is_none_to_the_batch) {
    const auto good = test::script_reply{
        .values = {std::nullopt, std::nullopt}, .nonce = "7", .granted = 2, .shards = {1, 1}};
    BOOST_TEST(two_shards{}.reads(good.bytes()));
    for (const auto& shards : {std::vector<std::size_t>{}, {2}}) {
        auto bad = good;
        bad.shards = shards;
        BOOST_TEST(!two_shards{}.reads(bad.bytes()));
    }
    auto bytes = good.bytes();
    bytes.replace(bytes.find("$-1\r\n"), 5, "$0\r\n\r\n");
    BOOST_TEST(!two_shards{}.reads(bytes)); // a value instead of the nil
}

BOOST_AUTO_TEST_CASE(a_batch_that_was_taken_back_takes_calls_in_all_its_shards) {
    const auto p = packed(gcra(2, 1s));
    const auto keys = key_of_each_shard();
    auto batch = redis::script_batch{8};
    auto ops = std::deque<test::fake_operation>(4);
    batch.start(detail::access::data(p), detail::store_clock, 7);
    batch.add(ops[0], "t", keys[4]);
    batch.add(ops[1], "t", keys[2]);
    auto out = std::string{};
    batch.encode(out, "0");
    batch.take_back();
    batch.add(ops[2], "t", keys[3]);
    batch.add(ops[3], "t", keys[2] + "'s neighbour");
    out.clear();
    batch.encode(out, "0");
    const auto words = test::commands_of(std::move(out)).at(0);
    BOOST_TEST(batch.sent().keys == 4U);
    auto fields = std::vector<std::string>(words.end() - 4, words.end());
    BOOST_TEST(fields[0] == "k:" + keys[2]);
    BOOST_TEST(std::ranges::count(fields, "k:" + keys[3]) == 1);
    BOOST_TEST(std::ranges::count(fields, "k:" + keys[2] + "'s neighbour") == 1);
    BOOST_TEST(std::ranges::count(fields, "k:" + keys[4]) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

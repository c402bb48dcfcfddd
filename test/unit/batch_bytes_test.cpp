// SPDX-License-Identifier: BSL-1.0
//
// The bytes of random batches, as digests that were recorded once: servers and other versions of
// the library read them, so a change of the code that writes them must not change them. All are
// encoded for the server module, as that command names no script.

#include <colimit/bloom_filter.hpp>
#include <hash/fnv1a.hpp>
#include <policy/policy_data.hpp>
#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_bytes)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using detail::policy_pointer;
using redis::script_batch;

constexpr std::size_t most_keys = 24;

/// Calls of one policy in random batches.
class trial {
  public:
    trial(policy_pointer p, std::vector<verb> verbs, bool has_ids = false)
        : policy_(std::move(p)), verbs_(std::move(verbs)), has_ids_(has_ids) {}

    /// Returns the digest of everything that is sent.
    std::uint64_t run() {
        for (auto i = 0; i < 60; ++i)
            run_batch();
        return digest_;
    }

  private:
    void run_batch() {
        auto batch = script_batch{most_keys};
        start(batch);
        add_calls(batch);
        drop_calls(random_.below(4));
        encode(batch);
        drop_calls(random_.below(3));
        batch.take_back();
        add_calls(batch);
        encode(batch);
        batch.take_back();
        move_calls(batch);
        for (auto& op : ops_)
            if (op.is_held)
                op.batch->drop(op.index);
        ops_.clear();
    }

    void move_calls(script_batch& from) {
        auto to = std::array<script_batch, 3>{script_batch{most_keys}, script_batch{most_keys},
                                              script_batch{most_keys, redis::key_tags{}, false}};
        for (auto& b : to)
            start(b);
        from.move_calls([&](std::size_t, std::uint32_t key) -> auto& { return to[key % 3]; },
                        [] {});
        for (auto& b : to)
            if (!b.is_abandoned())
                encode(b);
        for (auto& b : to)
            b.release([](detail::operation& op) { op.is_held = false; });
    }

    void start(script_batch& b) {
        const auto clock = random_.percent(50) ? detail::store_clock : std::int64_t{987'654'321};
        b.start(policy_, clock, random_.bits(), script_batch::any_group, has_ids_);
    }

    void add_calls(script_batch& b) {
        for (auto left = random_.between(1, 40); left > 0 && !b.is_full(); --left) {
            const auto v = verbs_[random_.below(verbs_.size())];
            const auto cost = random_.percent(70) ? 1 : random_.between(1, 3);
            const auto member = std::string(12, static_cast<char>('a' + random_.below(2)));
            const auto id = std::to_string(random_.bits());
            auto& op = ops_.emplace_back(detail::call_request{.verb = v,
                                                              .cost = cost,
                                                              .at_least = cost,
                                                              .member = member,
                                                              .has_member = true,
                                                              .has_id = has_ids_,
                                                              .id = id});
            if (v == verb::allow && random_.percent(10) && !has_ids_)
                op.lease.further_calls = static_cast<std::uint32_t>(random_.below(400));
            b.add(op, "t", v == verb::inspect ? "0" : random_key());
        }
    }

    [[nodiscard]] std::string random_key() {
        const auto number = std::to_string(random_.below(most_keys));
        return random_.percent(5)   ? std::string(300, 'x') + number
               : random_.percent(5) ? "tag=common;" + number
                                    : number;
    }

    void drop_calls(std::size_t count) {
        for (; count > 0; --count) {
            auto& op = ops_[random_.below(ops_.size())];
            if (!op.is_held)
                continue;
            op.batch->drop(op.index);
            op.is_held = false;
        }
    }

    void encode(script_batch& b) {
        auto out = std::string{};
        b.encode(out, has_ids_ ? "5 60000" : "5", redis::script_command::server_module);
        const auto& sent = b.sent();
        for (const auto n : {sent.keys, sent.calls, sent.entries})
            out += std::to_string(n) + " ";
        digest_ = 31 * digest_ + hash::fnv1a_64(out);
    }

    policy_pointer policy_;
    std::vector<verb> verbs_;
    bool has_ids_;
    test::rng random_{20'261'128};
    std::deque<test::fake_operation> ops_;
    std::uint64_t digest_ = 0;
};

[[nodiscard]] policy_pointer of(const policy& p) {
    return detail::access::data(p);
}

[[nodiscard]] std::vector<verb> usual_verbs() {
    return {verb::allow, verb::allow, verb::allow, verb::peek, verb::refund};
}

const auto buckets = policy{"p", gcra(5, 1s), fixed_window(9, 1h).named("w")};
const auto facts = policy{"p", sliding_log(5, 1s), distinct(9, 1h).named("d")};
const auto packed = policy{"p", gcra(5, 1s)}.with_storage(storage::shared_hash);

} // namespace

BOOST_AUTO_TEST_CASE(those_of_calls_on_keys) {
    BOOST_TEST(trial(of(buckets), {verb::allow}).run() == 6'293'698'236'896'302'757U);
    BOOST_TEST(trial(of(buckets), usual_verbs()).run() == 14'705'657'124'911'154'405U);
    BOOST_TEST(trial(of(facts), usual_verbs()).run() == 3'728'897'832'421'139'698U);
    BOOST_TEST(trial(of(policy{"CL.THROTTLE", cell(5, 1, 1s)}), usual_verbs()).run() ==
               13'041'283'814'624'591'018U);
}

BOOST_AUTO_TEST_CASE(those_of_holders) {
    const auto verbs = std::vector{verb::acquire, verb::acquire, verb::renew, verb::release};
    BOOST_TEST(trial(of(policy{"p", concurrent(5)}), verbs).run() == 10'759'950'214'882'056'525U);
}

BOOST_AUTO_TEST_CASE(those_of_calls_in_shards) {
    BOOST_TEST(trial(of(packed), {verb::allow}).run() == 1'187'307'778'094'557'923U);
    BOOST_TEST(trial(of(packed), usual_verbs()).run() == 17'807'555'941'778'598'026U);
}

BOOST_AUTO_TEST_CASE(those_of_calls_with_ids) {
    BOOST_TEST(trial(of(buckets), usual_verbs(), true).run() == 4'044'030'055'598'398'705U);
    BOOST_TEST(trial(of(packed), usual_verbs(), true).run() == 11'955'563'615'639'809'544U);
}

BOOST_AUTO_TEST_CASE(those_of_filters) {
    const auto verbs = std::vector{verb::allow, verb::peek, verb::inspect};
    const auto digest_of = [&](std::int64_t capacity) {
        const auto filter = bloom_filter{"f", {.capacity = capacity}};
        return trial(detail::access::data(filter), verbs).run();
    };
    BOOST_TEST(digest_of(1000) == 643'515'968'109'377'084U);
    BOOST_TEST(digest_of(10'000'000) == 13'749'833'254'754'684'259U);
}

BOOST_AUTO_TEST_CASE(those_of_joint_calls) {
    auto random = test::rng{20'261'128};
    auto digest = std::uint64_t{0};
    const policy policies[] = {buckets, facts, policy{"q", gcra(1, 1s)},
                               policy{"CL.THROTTLE", cell(5, 1, 1s)}};
    for (auto i = 0; i < 100; ++i) {
        auto batch = script_batch{8};
        auto keys = std::vector<std::string>(static_cast<std::size_t>(random.between(1, 6)));
        auto checks = std::vector<check_item>{};
        for (auto& key : keys) {
            key = "user " + std::to_string(checks.size());
            checks.push_back({.key = key,
                              .policy = policies[random.below(4)],
                              .options = {.cost = random.between(1, 3), .member = "m"}});
        }
        auto op = test::fake_operation{};
        op.checks = checks;
        batch.start(of(checks.front().policy), detail::store_clock, random.bits());
        BOOST_REQUIRE(batch.add_checks(op, "t"));
        auto out = std::string{};
        batch.encode(out, "5", redis::script_command::server_module);
        digest = 31 * digest + hash::fnv1a_64(out);
        batch.drop(op.index);
    }
    BOOST_TEST(digest == 13'046'643'053'173'111'857U);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The memory of a key on a server, per kind of rule: the numbers of the tables in include/*.md,
// which must not grow unnoticed. `build/test/store --run_test=memory_usage* --log_level=message`
// prints them.

#include "stores.hpp"

#include <support/live_limiter.hpp>
#include <support/server_version.hpp>
#include <support/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(memory_usage)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

constexpr std::string_view key = "u:0123456789"; // as long as an id usually is

/// The name and the TTL of a key, which MEMORY USAGE leaves out: with names as long as here, 48
/// bytes in Valkey 8.
[[nodiscard]] std::int64_t left_out() {
    const auto v = version_of(look());
    return v.is_valkey() && v.major == 8 ? 48 : 0;
}

/// Of the key's value, log, sketches and holders together.
[[nodiscard]] std::int64_t bytes_in_use(raw_client& on) {
    auto sum = std::int64_t{0};
    for (const auto& name : on.keys())
        sum += on.must({"MEMORY", "USAGE", name, "SAMPLES", "0"}).integer + left_out();
    return sum;
}

/// @param calls of cost 1, each by a member of its own
void check_usage(std::string_view what, const policy& p, int calls, std::int64_t most) {
    auto s = open_store(store_kind::redis_resp3);
    for (int i = 0; i < calls; ++i) {
        const auto member = std::to_string(i);
        s->charge(key, p, {.member = member, .now = at(i)});
    }
    const auto bytes = bytes_in_use(look());
    BOOST_TEST_MESSAGE(what << ", " << calls << " calls: " << bytes << " bytes");
    BOOST_TEST(bytes <= most, what << " takes " << bytes << " bytes");
    BOOST_TEST(bytes > most / 2, what << " takes " << bytes << " bytes");
}

/// Of the holders of places of a key.
void check_holders(std::size_t count, std::int64_t most) {
    const auto server = redis_server{};
    const auto p = policy{"api", concurrent(1000).lease(1h)};
    auto l = live{server.address()};
    auto held = std::vector<slot>(count);
    auto granted = std::size_t{0};
    for (auto& place : held)
        l.limiter.acquire(key, p, [&](error_code, slot got) {
            granted += got ? 1U : 0U;
            place = std::move(got);
        });
    run_until(l.context, [&] { return granted == count; });
    auto look_there = server.connect();
    const auto bytes = bytes_in_use(look_there);
    BOOST_TEST_MESSAGE("concurrent, " << count << " holders: " << bytes << " bytes");
    BOOST_TEST(bytes <= most, "concurrent takes " << bytes << " bytes");
    BOOST_TEST(bytes > most / 2, "concurrent takes " << bytes << " bytes");
}

BOOST_AUTO_TEST_CASE(memory_usage_of_a_rule_is_what_the_readme_says) {
    check_usage("bucket", policy{"api", gcra(5, 1s)}, 3, 160);
    check_usage("window", policy{"api", fixed_window(5, 1s)}, 3, 160);
    check_usage("calendar", policy{"api", calendar(5, calendar_unit::month)}, 3, 160);
    check_usage("counter", policy{"api", sliding_window(5, 1s)}, 3, 160);
    check_usage("four of them",
                policy{"api", gcra(5, 1s), fixed_window(5, 1s), calendar(5, calendar_unit::month),
                       sliding_window(5, 1s)},
                3, 300);
    check_usage("bucket and prevent_duplicate", policy{"api", gcra(5, 1s)}.prevent_duplicate(5s), 3,
                200);
    const policy log{"api", sliding_log(1000, 1h)};
    check_usage("log", log, 1, 180);
    check_usage("log", log, 100, 1'800);
    check_usage("log", log, 1000, 16'500);
    const policy members{"api", distinct(100'000, 1h)};
    check_usage("distinct", members, 1, 400);
    check_usage("distinct", members, 100, 1200);
    check_usage("distinct", members, 5000, 16'000);
    check_holders(1, 180);
    check_holders(100, 4000);
    check_holders(1000, 120'000);
}

[[nodiscard]] std::int64_t used_memory() {
    const auto info = look().must({"INFO", "memory"}).text;
    return std::stoll(info.substr(info.find("used_memory:") + 12));
}

/// Of a key among 10,000: its name, its value and its part of the server's tables.
[[nodiscard]] std::int64_t bytes_of_one(const policy& p) {
    constexpr auto keys = 10'000;
    auto s = open_store(store_kind::redis_resp3);
    const auto before = used_memory();
    for (int i = 0; i < keys; ++i)
        s->allow("u:" + std::to_string(1'000'000'000 + i), p, {.now = at(0)});
    return (used_memory() - before) / keys;
}

/// Of a call with an id among 10,000 for one key.
void check_record(std::string_view what, const policy& p, std::int64_t most) {
    constexpr auto calls = 10'000;
    auto s = open_store(store_kind::redis_resp3);
    const auto ask = [&](int i) {
        const auto id = "8e03978e-40d5-43dd-bc93-" + std::to_string(100'000'000'000 + i);
        s->allow(key, p, {.member = "m", .request = id, .now = at(0)});
    };
    ask(0);
    const auto before = used_memory();
    for (int i = 1; i <= calls; ++i)
        ask(i);
    const auto bytes = (used_memory() - before) / calls;
    BOOST_TEST_MESSAGE("a record of " << what << " among 10,000: " << bytes << " bytes");
    BOOST_TEST(bytes <= most, what << " takes " << bytes << " bytes");
    BOOST_TEST(bytes > most / 3, what << " takes " << bytes << " bytes");
}

BOOST_AUTO_TEST_CASE(memory_usage_of_an_id_is_what_the_guide_says) {
    check_record("a bucket", policy{"api", gcra(5, 1h)}, 400);
    check_record("three buckets",
                 policy{"api", gcra(5, 1h), gcra(9, 1h).named("b"), gcra(9, 2h).named("c")}, 500);
    check_record("a log", policy{"api", sliding_log(5, 1h)}, 400);
    check_record("distinct", policy{"api", distinct(5, 1h)}, 450);
}

BOOST_AUTO_TEST_CASE(a_packed_state_takes_about_half_of_what_a_key_takes) {
    const policy p{"api", gcra(5, 1s)};
    const auto plain = bytes_of_one(p);
    const auto packed = bytes_of_one(p.with_storage(storage::shared_hash));
    BOOST_TEST_MESSAGE("among 10,000: plain " << plain << " bytes, packed " << packed);
    BOOST_TEST(packed * 3 <= plain * 2);
    BOOST_TEST(packed > 50);
    // The guide's figures; how far the server's tables and buffers have grown is chance.
    if (const auto v = version_of(look()); !v.is_valkey() && v.major == 7) {
        BOOST_TEST(std::abs(packed - 101) <= 25);
        BOOST_TEST(std::abs(plain - 224) <= 45);
    }
}

BOOST_AUTO_TEST_CASE(each_further_rule_of_numbers_adds_36_bytes) {
    constexpr auto further = 7;
    std::vector<rule> rules;
    auto bytes = std::vector<std::int64_t>{};
    for (int i = 0; i <= further; ++i) {
        rules.push_back(gcra(5, std::chrono::seconds{i + 1}).named("r" + std::to_string(i)));
        auto s = open_store(store_kind::redis_resp3);
        s->charge(key, policy{"api", rules}, {.now = at(0)});
        bytes.push_back(bytes_in_use(look()));
    }
    const auto added = bytes.back() - bytes.front();
    BOOST_TEST_MESSAGE("seven further rules: " << added << " bytes");
    BOOST_TEST(added <= further * 40);
    BOOST_TEST(added >= further * 32);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

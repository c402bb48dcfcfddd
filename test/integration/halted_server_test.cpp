// SPDX-License-Identifier: BSL-1.0
//
// A server that is halted within a script, between the reading of its clock and any other command,
// for longer than what the script stores is kept. The TTL of a key has passed then when it is set,
// and the server deletes the key at once; but the calls of one script are made at one time, so no
// later one may find less than the earlier ones have stored. The same holds for the commands of the
// server module, which this runs with if COLIMIT_TEST_MODULE says so.

#include <support/live_limiter.hpp>
#include <support/rules_of_every_kind.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colimit::halted_server_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using test::live;

constexpr auto limit = 3;
constexpr auto period = 1s;
constexpr auto halt = 10s; // longer than any key is kept

struct halted_server {
    halted_server() {
        l.run([this]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
        server.halt_at_each_reading(halt);
        scripts = test::check_calls(look);
    }

    /// Also expects no key that never ends.
    void expect_one_script() {
        BOOST_TEST(test::check_calls(look) == scripts + 1);
        scripts = test::check_calls(look);
        expect_ends();
    }
    void expect_ends() {
        for (const auto& name : look.keys())
            BOOST_TEST(look.pttl(name) != -1, name);
    }

    test::redis_server server{{.can_step_clock = true}};
    test::raw_client look = server.connect();
    live l{server.address()};
    std::int64_t scripts = 0; ///< so far
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(halts_within_a_script, halted_server)

BOOST_AUTO_TEST_CASE(one_script_admits_no_more_than_the_limit) {
    auto policies = std::vector<policy>{};
    policies.emplace_back("p", sliding_log(limit, period));
    policies.emplace_back("p", distinct(limit, period));
    policies.emplace_back("p", sliding_log(limit, period), distinct(100, period));
    for (const auto& r : test::rules_of_every_kind(limit, period)) {
        policies.emplace_back("p", r);
        policies.push_back(policies.back().with_storage(storage::shared_hash));
    }
    for (const auto& p : policies) {
        look.must({"FLUSHALL"});
        auto names = std::array<std::string, 3 * limit>{};
        auto checks = std::vector<check_item>{};
        for (auto& name : names) {
            name = "member " + std::to_string(checks.size());
            // Costs of 1 and 0 in turn, so that they are calls of their own.
            checks.push_back({.key = "k", .policy = p, .options = {.member = name}});
            checks.push_back({.key = "k", .policy = p, .options = {.cost = 0, .member = name}});
        }
        l.run([&]() -> asio::awaitable<void> { co_await l.limiter.allow_many(checks); });
        auto granted = std::int64_t{0};
        for (const auto& c : checks) {
            BOOST_TEST(!c.ec, c.ec.message());
            granted += c.result.granted;
        }
        BOOST_TEST(granted == limit, to_string(p[0]) << " admitted " << granted);
        expect_one_script();
    }
}

BOOST_AUTO_TEST_CASE(one_script_gives_no_more_slots_than_there_are) {
    const auto p = policy{"p", concurrent(limit).lease(period)};
    auto held = std::vector<slot>{};
    auto open = 3 * limit;
    for (auto i = 0; i < 3 * limit; ++i)
        l.limiter.acquire("k", p, [&](error_code ec, slot got) {
            BOOST_TEST(!ec, ec.message());
            if (got)
                held.push_back(std::move(got));
            --open;
        });
    test::run_until(l.context, [&] { return open == 0; });
    BOOST_TEST(held.size() == std::size_t{limit});
    expect_one_script();
}

BOOST_AUTO_TEST_CASE(one_script_calls_an_id_new_once) {
    const auto f = bloom_filter{"f", {.capacity = 1'000, .ttl = period}};
    auto ids = std::vector<seen_item>(limit, {.id = "id"});
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.seen_many(ids, f); });
    BOOST_TEST(std::ranges::count(ids, false, &seen_item::seen) == 1);
    expect_ends();
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::halted_server_test

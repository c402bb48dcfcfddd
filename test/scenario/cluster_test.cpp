// SPDX-License-Identifier: BSL-1.0
//
// A limiter on a cluster: which node decides a call, while slots move, masters fail and nodes
// freeze.

#include <scenario/callers.hpp>
#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <simulation/cluster_deployment.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::cluster_scenarios {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::callers;
using scenario::fake_redis;
using test::live;

const auto many = policy{"p", gcra(1'000'000, 24h * 36'500)};

struct clustered : scenario::world {
    [[nodiscard]] fake_redis& node(std::size_t i) {
        return static_cast<fake_redis&>(*cluster.servers()[i]);
    }

    /// Keys in the slots of one node, each in another slot.
    [[nodiscard]] std::vector<std::string> keys_on(std::size_t of, std::size_t count) const {
        auto found = std::vector<std::string>{};
        auto slots = std::vector<std::size_t>{};
        for (auto i = 0; found.size() < count; ++i) {
            auto key = "key" + std::to_string(i);
            const auto slot = std::size_t{test::slot_of(key)};
            if (cluster.owner(slot) == of && std::ranges::find(slots, slot) == slots.end()) {
                slots.push_back(slot);
                found.push_back(std::move(key));
            }
        }
        return found;
    }

    asio::awaitable<void> until_it_has_changed() {
        co_await test::until([this] { return !cluster.is_changing(); });
    }

    /// Moves the slots of six keys of node 0 to node 1 under load: nothing may be admitted twice,
    /// and no call may fail.
    void check_migration(const rule& r, std::int64_t limit, bool has_ids = false) {
        auto l = live{context, cluster.address()};
        auto keys = keys_on(0, 6);
        auto all = callers{
            l,
            {.rules = policy{"p", r}, .count = 12, .keys = keys, .pause = 1ms, .has_ids = has_ids}};
        run([&]() -> asio::awaitable<void> {
            co_await all.until_decided(200);
            for (const auto& key : keys) {
                cluster.migrate(test::slot_of(key), 1);
                co_await until_it_has_changed();
                co_await all.until_decided(50);
            }
            for (const auto& n : all.admitted)
                co_await test::until([&] { return n >= limit; });
            co_await all.until_decided(200);
            co_await all.finish();
        });
        for (const auto n : all.admitted)
            BOOST_TEST(n == limit);
        BOOST_TEST(all.unknown == 0);
        BOOST_TEST(all.unavailable == 0);
        BOOST_TEST(all.others == 0);
        for (const auto& key : keys)
            BOOST_TEST(cluster.owner(test::slot_of(key)) == 1U);
    }

    simulation::cluster_deployment cluster{
        net,
        [this](simulation::place where, simulation::slot_rules* rules) {
            return std::make_unique<fake_redis>(net, where, rules);
        },
        {}};
};

BOOST_AUTO_TEST_SUITE(changing_clusters)

BOOST_FIXTURE_TEST_CASE(slots_move_under_load_and_every_call_is_decided_once, clustered) {
    check_migration(fixed_window(400, 24h).from_first(), 400);
}

/// A log has two keys. Redis replies TRYAGAIN as long as one of them is there and one is not.
BOOST_FIXTURE_TEST_CASE(calls_on_several_keys_wait_until_their_slot_has_moved, clustered) {
    check_migration(sliding_log(400, 24h), 400);
}

/// So has a call with an id: its record, which moves with the key.
BOOST_FIXTURE_TEST_CASE(calls_with_ids_wait_until_their_slot_has_moved, clustered) {
    check_migration(fixed_window(400, 24h).from_first(), 400, true);
}

BOOST_FIXTURE_TEST_CASE(calls_with_ids_survive_lost_connections_to_any_node, clustered) {
    auto l = live{context, cluster.address()};
    auto keys = std::vector<std::string>{};
    for (std::size_t i = 0; i < cluster.masters; ++i)
        for (auto& key : keys_on(i, 2))
            keys.push_back(std::move(key));
    auto all =
        callers{l, {.rules = many, .count = 12, .keys = keys, .pause = 0us, .has_ids = true}};
    run([&]() -> asio::awaitable<void> {
        for (auto round = 0; round < 50; ++round) {
            co_await all.until_decided(20);
            co_await test::pause_for(std::chrono::microseconds{os.random().between(0, 400)});
            for (std::size_t i = 0; i < cluster.masters; ++i)
                node(i).drop_connections();
        }
        co_await all.until_decided(20);
        co_await all.finish();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto d = co_await l.limiter.peek(keys[i], many, {.cost = 0});
            BOOST_TEST(d.remaining == 1'000'000 - all.admitted[i]);
        }
    });
    BOOST_TEST(l.limiter.statistics().reconnects > 50U);
    BOOST_TEST(all.unknown == 0);
    BOOST_TEST(all.unavailable == 0);
    BOOST_TEST(all.others == 0);
}

/// It is asked once about each node. The calls that follow do not wait for the executor, whichever
/// nodes and slots they need.
BOOST_FIXTURE_TEST_CASE(a_call_goes_straight_to_a_node_that_may_be_connected_to, clustered) {
    auto keys = std::vector<std::string>{};
    for (std::size_t i = 0; i < cluster.masters; ++i)
        for (auto& key : keys_on(i, 2))
            keys.push_back(std::move(key));
    auto asked = std::size_t{0};
    const auto handlers = [&](bool is_restricted) {
        auto l = live{context, cluster.address(), [&](config& c) {
                          if (is_restricted)
                              c.advanced.may_connect = [&](std::string_view, std::uint16_t) {
                                  return ++asked != 0;
                              };
                      }};
        auto all = std::size_t{0};
        for (auto round = 0; round < 4; ++round) {
            if (round == 1) // all nodes are connected
                all = 0;
            for (const auto& key : keys) {
                auto is_decided = false;
                l.limiter.allow(key, many, [&](error_code ec, const decision& /*d*/) {
                    BOOST_TEST(!ec);
                    is_decided = true;
                });
                context.restart();
                while (!is_decided)
                    all += context.run_one();
            }
        }
        return all;
    };
    const auto usual = handlers(false);
    BOOST_TEST(handlers(true) == usual);
    BOOST_TEST(asked <= 2 * cluster.masters); // also for the map
}

BOOST_FIXTURE_TEST_CASE(a_replica_that_becomes_the_master_by_order_is_followed, clustered) {
    auto l = live{context, cluster.address()};
    auto all = callers{l, {.rules = many, .keys = keys_on(0, 3)}};
    run([&]() -> asio::awaitable<void> {
        for (auto round = 0; round < 5; ++round) {
            co_await all.until_decided(200);
            const auto old = cluster.owner(test::slot_of(all.what.keys.front()));
            cluster.fail_over(old, true); // the old master stays, as a replica
            co_await all.until_decided(200);
            co_await until_it_has_changed();
            const auto now = cluster.owner(test::slot_of(all.what.keys.front()));
            BOOST_TEST(now != old);
        }
        co_await all.finish();
    });
    BOOST_TEST(all.unknown == 0);
    BOOST_TEST(all.unavailable == 0);
    BOOST_TEST(all.others == 0);
    BOOST_TEST((all.longest <= 1s), all.longest.count());
}

/// The limiter finds the new master without help.
BOOST_FIXTURE_TEST_CASE(a_killed_master_is_replaced_by_its_replica, clustered) {
    auto l = live{context, cluster.address()};
    run([&]() -> asio::awaitable<void> {
        for (const auto victim : {std::size_t{0}, std::size_t{1}}) {
            auto on_it = callers{l, {.rules = many, .count = 5, .keys = keys_on(victim, 3)}};
            auto elsewhere = callers{l, {.rules = many, .count = 5, .keys = keys_on(2, 3)}};
            co_await on_it.until_decided(100);
            const auto begin = now();
            cluster.fail_over(victim, false);
            co_await until_it_has_changed();
            co_await on_it.until_decided(100);
            BOOST_TEST((now() - begin <= 3s), (now() - begin).count());
            co_await on_it.finish();
            BOOST_TEST(on_it.unknown <= 5); // one call of each caller was in flight
            BOOST_TEST(on_it.others == 0);
            co_await elsewhere.finish();
            BOOST_TEST(elsewhere.unknown == 0);
            BOOST_TEST(elsewhere.others == 0);
        }
    });
}

BOOST_FIXTURE_TEST_CASE(calls_on_other_nodes_do_not_wait_for_one_that_is_frozen, clustered) {
    auto l = live{context, cluster.address(), [](config& c) { c.timeout = 1s; }};
    const auto frozen = keys_on(0, 1).front();
    auto lively = keys_on(1, 2);
    for (auto& key : keys_on(2, 2))
        lively.push_back(std::move(key));
    run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow(frozen, many);
        for (const auto& key : lively)
            (void)co_await l.limiter.allow(key, many);
        node(0).stop();
        auto got = error_code{};
        auto ended = std::chrono::microseconds{0};
        const auto begin = now();
        l.limiter.allow(frozen, many, [&](error_code ec, const decision&) {
            got = ec;
            ended = now();
        });
        for (const auto& key : lively) {
            const auto before = now();
            const auto d = co_await l.limiter.allow(key, many);
            BOOST_TEST((d.source == decision_source::store));
            BOOST_TEST((now() - before < 1ms));
        }
        co_await test::pause_for(2s);
        BOOST_TEST((got == errc::outcome_unknown), got.message());
        BOOST_TEST((ended - begin == 1s));
        // Meanwhile it is probed, left and connected to in vain, and asked for the map.
        auto on_it = callers{l, {.rules = many, .count = 5, .keys = {frozen}}};
        auto elsewhere = callers{l, {.rules = many, .count = 5, .keys = lively}};
        co_await test::pause_for(20s);
        BOOST_TEST(l.limiter.statistics().breaker_openings != 0U);
        BOOST_TEST(elsewhere.decided >= 5 * 1'900);
        BOOST_TEST(elsewhere.unknown + elsewhere.unavailable + elsewhere.others == 0);
        BOOST_TEST((elsewhere.longest < 1ms), elsewhere.longest.count());
        BOOST_TEST(on_it.decided == 0);
        co_await elsewhere.finish();
        node(0).thaw();
        const auto thawed = now();
        co_await on_it.until_decided(1);
        BOOST_TEST((now() - thawed <= 2s));
        co_await on_it.finish();
    });
}

/// Each node has its own `max_in_flight`: calls for one that is frozen take no room of the others.
BOOST_FIXTURE_TEST_CASE(each_node_has_room_for_its_own_calls, clustered) {
    auto l = live{context, cluster.address(), [](config& c) { c.advanced.max_in_flight = 3; }};
    const auto keys =
        std::array{keys_on(0, 5), keys_on(1, 5), keys_on(2, 5)}; // each in another slot
    auto ended = std::array{0, 0, 0};
    auto refused = std::array{0, 0, 0};
    run([&]() -> asio::awaitable<void> {
        for (const auto& of_node : keys)
            (void)co_await l.limiter.allow(of_node[0], many);
        node(0).stop();
        node(1).stop();
        for (std::size_t call = 0; call < 5; ++call)
            for (std::size_t i = 0; i < keys.size(); ++i)
                l.limiter.allow(keys[i][call], many, [&, i](error_code ec, const decision&) {
                    ++ended[i];
                    refused[i] += ec == errc::too_many_in_flight ? 1 : 0;
                });
        co_await test::until([&] { return ended == std::array{2, 2, 5}; });
        BOOST_TEST((refused == std::array{2, 2, 2}));
        BOOST_TEST((now() < 1s));
        node(0).thaw();
        node(1).thaw();
        co_await test::until([&] { return ended == std::array{5, 5, 5}; });
        BOOST_TEST((refused == std::array{2, 2, 2}));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::cluster_scenarios

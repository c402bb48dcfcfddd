// SPDX-License-Identifier: BSL-1.0
//
// A cluster in trouble: nodes that lost their disks, a slot that stays between two nodes, nodes
// that contradict each other or refuse everything, and ways to a node that are long. Calls on keys
// that can be served are, the others do not wait, and the reason can be read.

#include <scenario/callers.hpp>
#include <scenario/fake_redis.hpp>
#include <scenario/tls_server.hpp>
#include <scenario/world.hpp>
#include <simulation/cluster_deployment.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::cluster_trouble {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::callers;
using scenario::fake_redis;
using test::live;

const auto many = policy{"p", gcra(1'000'000, 24h * 36'500)};

void usual_timeout(config& c) {
    c.timeout = 100ms;
}

struct troubled : scenario::world {
    [[nodiscard]] fake_redis& node(std::size_t i) {
        return static_cast<fake_redis&>(*cluster.servers()[i]);
    }
    [[nodiscard]] std::int64_t script_calls() {
        auto n = std::int64_t{0};
        for (std::size_t i = 0; i < cluster.servers().size(); ++i)
            n += node(i).calls_of("evalsha") + node(i).refusals();
        return n;
    }

    /// Keys of one node: all in the slot of the first one, or none.
    [[nodiscard]] std::vector<std::string> keys_on(std::size_t of, std::size_t count,
                                                   std::size_t slot, bool in_slot) const {
        auto found = std::vector<std::string>{};
        for (auto i = 0; found.size() < count; ++i) {
            auto key = "key" + std::to_string(i);
            const auto its = std::size_t{test::slot_of(key)};
            if (cluster.owner(its) == of && (its == slot) == in_slot)
                found.push_back(std::move(key));
        }
        return found;
    }
    /// A slot of a node that keys have.
    [[nodiscard]] std::size_t slot_on(std::size_t of) const {
        return test::slot_of(keys_on(of, 1, redis::hash_slot_count, false).front());
    }

    /// Returns the longest time that a call takes, and what it ends with, after a second.
    asio::awaitable<std::chrono::microseconds> longest_call(live& l, std::string key,
                                                            error_code wanted) {
        const auto began = now();
        while (now() - began < 1s) {
            (void)co_await l.allow(key, many);
            co_await test::pause_for(1ms);
        }
        auto longest = std::chrono::microseconds{0};
        auto slow = 0;
        for (auto i = 0; i < 300; ++i) {
            const auto before = now();
            const auto [ec, d] = co_await l.allow(key, many);
            BOOST_TEST((ec == wanted), ec.message());
            slow += now() - before > 2ms ? 1 : 0;
            longest = std::max(longest, now() - before);
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(slow <= 6); // one is an attempt, in each pause
        co_return longest;
    }

    [[nodiscard]] static std::string last_text(live& l) {
        const auto last = l.limiter.last_error();
        return last ? to_string(*last) : std::string{};
    }
    static void check_names(live& l, const std::string& part) {
        const auto text = last_text(l);
        BOOST_TEST(text.find(part) != std::string::npos, text);
    }

    simulation::cluster_deployment cluster{
        net,
        [this](simulation::place where, simulation::slot_rules* rules) {
            return std::make_unique<fake_redis>(net, where, rules);
        },
        {}};
};

BOOST_AUTO_TEST_SUITE(troubled_clusters)

/// The others keep it, without an address, and it has an empty map.
BOOST_FIXTURE_TEST_CASE(a_node_that_lost_its_disk_takes_nothing_from_the_others, troubled) {
    auto keys = std::vector<std::string>{};
    for (std::size_t i = 0; i < cluster.masters; ++i)
        keys.push_back(keys_on(i, 1, redis::hash_slot_count, false).front());
    auto before = live{context, cluster.address()};
    run([&]() -> asio::awaitable<void> {
        auto all = callers{before, {.rules = many, .count = 6, .keys = keys}};
        co_await all.until_decided(50);
        cluster.wiped.insert(5);
        auto after = live{context, cluster.address()};
        auto new_ones = callers{after, {.rules = many, .count = 6, .keys = keys}};
        co_await new_ones.until_decided(50);
        cluster.fail_over(0, false);
        co_await test::until([&] { return !cluster.is_changing(); });
        auto lost = callers{before, {.rules = many, .keys = {keys[0]}}};
        auto lost_too = callers{after, {.rules = many, .keys = {keys[0]}}};
        co_await lost.until_decided(100);
        co_await lost_too.until_decided(100);
        for (auto* some : {&all, &new_ones, &lost, &lost_too}) {
            co_await some->finish();
            BOOST_TEST(some->others == 0);
        }
    });
}

/// No node knows the owner any more, but this limiter does.
BOOST_FIXTURE_TEST_CASE(a_limiter_does_not_forget_owners_that_the_nodes_have_forgotten, troubled) {
    auto l = live{context, cluster.address(), usual_timeout};
    const auto key = keys_on(2, 1, redis::hash_slot_count, false).front();
    const auto moves = keys_on(0, 1, redis::hash_slot_count, false).front();
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(key, many);
        cluster.wiped.insert(2);
        cluster.migrate(test::slot_of(moves), 1); // a new map is needed
        co_await test::until([&] { return !cluster.is_changing(); });
        co_await l.until_it_works(moves, many);
        co_await test::pause_for(40s); // and another one is taken after a period
        const auto [ec, d] = co_await l.allow(key, many);
        BOOST_TEST(!ec, ec.message());
    });
}

/// Keys of a log whose slot is being moved are served by neither node, until it has moved.
BOOST_FIXTURE_TEST_CASE(calls_on_a_slot_that_moves_take_nothing_from_other_slots, troubled) {
    net.weather.latency = 2'500;
    const auto slot = slot_on(0);
    const auto moving = keys_on(0, 60, slot, true);
    auto others = keys_on(0, 8, slot, false);
    auto l = live{context, cluster.address(), usual_timeout};
    run([&]() -> asio::awaitable<void> {
        const auto served = [&]() -> asio::awaitable<std::int64_t> {
            auto calls = callers{l, {.rules = many, .count = 24, .keys = others, .pause = 1ms}};
            co_await test::pause_for(100ms); // connected
            calls.decided = 0;
            calls.longest = 0us;
            co_await test::pause_for(2s);
            const auto count = calls.decided;
            BOOST_TEST_MESSAGE(count << " calls, longest " << calls.longest.count() << " us");
            BOOST_TEST((calls.longest < 25ms), calls.longest.count());
            co_await calls.finish();
            BOOST_TEST(calls.unavailable + calls.unknown + calls.others == 0);
            co_return count;
        };
        const auto before = co_await served();
        cluster.begin_migration(slot, 1);
        auto waiting =
            callers{l, {.rules = policy{"log", sliding_log(5, 24h)}, .count = 60, .keys = moving}};
        const auto during = co_await served();
        BOOST_TEST(during * 10 >= before * 9);
        BOOST_TEST(waiting.decided == 0);
        co_await waiting.finish();
    });
}

BOOST_FIXTURE_TEST_CASE(calls_do_not_wait_for_a_cluster_that_says_it_is_down, troubled) {
    auto l = live{context, cluster.address(), usual_timeout};
    const auto key = keys_on(0, 1, redis::hash_slot_count, false).front();
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(key, many);
        cluster.set_ok(false);
        const auto longest = co_await longest_call(l, key, errc::unavailable);
        BOOST_TEST((longest <= 100ms), longest.count());
        BOOST_TEST((l.limiter.health().state == health_state::degraded));
        BOOST_TEST(l.limiter.statistics().breaker_openings != 0U);
        check_names(l, "CLUSTERDOWN");
        cluster.set_ok(true);
        const auto began = now();
        co_await l.until_it_works(key, many);
        BOOST_TEST((now() - began <= 1s));
        BOOST_TEST((l.limiter.health().state == health_state::ready));
    });
}

/// Its breaker is that of no node then, and another server may get its place.
BOOST_FIXTURE_TEST_CASE(a_node_that_has_left_does_not_matter_any_more, troubled) {
    auto l = live{context, cluster.address(), usual_timeout};
    const auto key = keys_on(0, 1, redis::hash_slot_count, false).front();
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(key, many);
        auto& old = node(0);
        old.condition = "CLUSTERDOWN The cluster is down";
        (void)co_await longest_call(l, key, errc::unavailable);
        BOOST_TEST((l.limiter.health().state == health_state::degraded));
        cluster.fail_over(0, false);
        co_await l.until_it_works(key, many);
        co_await test::pause_for(2s); // its connection is closed by then
        BOOST_TEST((l.limiter.health().state == health_state::ready));
    });
}

/// However rarely: an attempt would have no reply.
BOOST_FIXTURE_TEST_CASE(calls_do_not_wait_for_an_owner_that_no_map_names, troubled) {
    cluster.wiped.insert(2);
    auto l = live{context, cluster.address(), usual_timeout};
    const auto key = keys_on(2, 1, redis::hash_slot_count, false).front();
    run([&]() -> asio::awaitable<void> {
        (void)co_await longest_call(l, key, errc::unavailable);
        for (auto i = 0; i < 60; ++i) {
            co_await test::pause_for(400ms);
            const auto before = now();
            const auto [ec, d] = co_await l.allow(key, many);
            BOOST_TEST((ec == errc::unavailable), ec.message());
            BOOST_TEST((now() - before < 1ms));
        }
        BOOST_TEST((l.limiter.health().state == health_state::degraded));
        check_names(l, "no node of the cluster serves slot");
        cluster.wiped.clear();
        const auto began = now();
        co_await l.until_it_works(key, many);
        BOOST_TEST((now() - began <= 2s));
        BOOST_TEST((l.limiter.health().state == health_state::ready));
    });
}

BOOST_FIXTURE_TEST_CASE(calls_do_not_wait_for_a_map_that_no_node_has, troubled) {
    for (std::size_t i = 0; i < cluster.servers().size(); ++i)
        node(i).stop();
    auto l = live{context, cluster.address(), usual_timeout};
    run([&]() -> asio::awaitable<void> {
        const auto longest = co_await longest_call(l, "k", errc::unavailable);
        BOOST_TEST((longest <= 100ms), longest.count());
        BOOST_TEST((l.limiter.health().state == health_state::degraded));
        BOOST_TEST(l.limiter.statistics().breaker_openings == 1U);
        co_await test::pause_for(3s);
        check_names(l, "config::advanced.connect_timeout");
        for (std::size_t i = 0; i < cluster.servers().size(); ++i)
            node(i).thaw();
        co_await l.until_it_works("k", many);
        BOOST_TEST((co_await l.ready() == error_code{}));
        BOOST_TEST((l.limiter.health().state == health_state::ready));
    });
}

BOOST_FIXTURE_TEST_CASE(nodes_that_contradict_each_other_are_asked_rarely_and_both_named,
                        troubled) {
    const auto slot = slot_on(0);
    cluster.mislead(0, slot, 1); // and node 1 believes that node 0 serves it
    auto l = live{context, cluster.address(), usual_timeout};
    auto keys = keys_on(0, 20, slot, true);
    const auto other = keys_on(0, 1, slot, false);
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(other[0], many);
        auto calls = callers{l, {.rules = many, .count = 20, .keys = keys, .pause = 1ms}};
        co_await test::pause_for(1s);
        const auto before = script_calls();
        co_await test::pause_for(10s);
        BOOST_TEST_MESSAGE(script_calls() - before << " script calls in 10 s");
        BOOST_TEST(script_calls() - before <= 1'500);
        BOOST_TEST(calls.decided == 0);
        BOOST_TEST(calls.others == 0);
        BOOST_TEST(calls.unavailable >= 20 * 5'000);
        BOOST_TEST((l.limiter.health().state == health_state::degraded));
        check_names(l, "10.0.2.1:6379");
        check_names(l, "10.0.2.2:6379");
        const auto [ec, d] = co_await l.allow(other[0], many);
        BOOST_TEST(!ec, ec.message());
        cluster.mislead(0, slot, 0); // it was mended
        co_await calls.until_decided(100);
        co_await calls.finish();
        BOOST_TEST((l.limiter.health().state == health_state::ready));
    });
}

BOOST_FIXTURE_TEST_CASE(a_user_that_may_not_send_asking_is_told_so, troubled) {
    const auto slot = slot_on(0);
    const auto keys = keys_on(0, 1, slot, true);
    for (std::size_t i = 0; i < cluster.servers().size(); ++i)
        node(i).denied.insert("asking");
    auto l = live{context, cluster.address(), usual_timeout};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(keys_on(0, 1, slot, false)[0], many);
        cluster.begin_migration(slot, 1);
        const auto before = script_calls();
        const auto [ec, d] = co_await l.allow(keys[0], many);
        BOOST_TEST((ec == errc::auth_failed), ec.message());
        BOOST_TEST(script_calls() - before <= 4);
        check_names(l, "asking");
    });
}

/// They prefer host names, and all have the same port.
BOOST_FIXTURE_TEST_CASE(a_node_without_a_host_name_is_found_by_its_address, troubled) {
    cluster.nameless.insert(1);
    auto l = live{context, "redis+cluster://10.0.2.1", usual_timeout};
    run([&]() -> asio::awaitable<void> {
        const auto key = keys_on(1, 1, redis::hash_slot_count, false)[0];
        co_await l.until_it_works(key, many);
        // A slot that has just moved there is found with the next map.
        const auto moves = keys_on(0, 1, redis::hash_slot_count, false)[0];
        co_await l.until_it_works(moves, many);
        cluster.migrate(test::slot_of(moves), 1);
        co_await test::until([&] { return !cluster.is_changing(); });
        const auto began = now();
        co_await l.until_it_works(moves, many);
        BOOST_TEST((now() - began <= 2s));
    });
}

BOOST_AUTO_TEST_SUITE_END()

struct patient : scenario::world {
    void check_ready_within(std::chrono::microseconds most, const std::string& address) {
        auto l = live{context, address, [](config& c) { c.advanced.connect_timeout = 5s; }};
        auto ended = false;
        l.limiter.ready([&](error_code ec) { ended = !ec; });
        run_for(most);
        BOOST_TEST(ended);
        l.limiter.close();
        run_for(1ms); // to the end of the call
    }
};

BOOST_FIXTURE_TEST_SUITE(long_ways_to_a_cluster, scenario::world)

/// Each server may take `connect_timeout` to be connected to.
BOOST_FIXTURE_TEST_CASE(a_name_that_takes_long_to_resolve_is_waited_for, patient) {
    auto server = fake_redis{net};
    server.serve_all_slots();
    for (const auto time : {700ms, 3'000ms, 4'900ms}) {
        os.names["slow.test"] = {.addresses = {0x0a000001}, .time = std::int64_t{time / 1us}};
        check_ready_within(2 * time, "redis+cluster://slow.test");
    }
}

BOOST_FIXTURE_TEST_CASE(a_distant_cluster_is_connected_to, patient) {
    net.weather.latency = 600'000;
    auto server = fake_redis{net};
    server.serve_all_slots();
    check_ready_within(20s, "redis+cluster://10.0.0.1");
}

BOOST_AUTO_TEST_CASE(what_keeps_a_limiter_from_a_cluster_is_reported) {
    const auto text_after = [&](const std::string& address, const live::adjustment& adjust) {
        auto l = live{context, address, adjust};
        auto ended = error_code{};
        l.limiter.ready([&](error_code ec) { ended = ec; });
        run_for(6s);
        const auto last = l.limiter.last_error();
        l.limiter.close();
        run_for(1ms); // to the end of the call
        return (last ? to_string(*last) : "nothing") + "; " + ended.message();
    };
    const auto has = [&](const std::string& text, const std::string& part) {
        BOOST_TEST(text.find(part) != std::string::npos, text);
    };
    auto silent = fake_redis{net};
    silent.stop();
    has(text_after("redis+cluster://10.0.0.1", {}),
        "no reply within config::advanced.connect_timeout");
    const auto secured = scenario::tls_server{*this, {}, false, {0x0a000002, 6379}};
    const auto port = secured.address().substr(secured.address().rfind(':'));
    has(text_after("redis+cluster://127.0.0.1" + port, {}), "TLS");
    auto plain = fake_redis{net, {0x0a000003, 6379}};
    plain.serve_all_slots();
    has(text_after("rediss+cluster://10.0.0.3", secured.trusted()), "TLS");
}

/// Whichever thread makes a call: they may use what only the executor's functions may.
BOOST_AUTO_TEST_CASE(functions_of_the_configuration_run_on_the_executor) {
    auto single = fake_redis{net, {0x0a000001, 6379}};
    auto clustered = fake_redis{net, {0x0a000002, 6379}};
    clustered.serve_all_slots();
    single.password = clustered.password = "secret";
    for (const std::string address : {"redis://10.0.0.1", "redis+cluster://10.0.0.2"}) {
        auto is_outside = true;
        auto outside = 0;
        auto inside = 0;
        const auto note = [&] { ++(is_outside ? outside : inside); };
        auto l = live{context, address, [&](config& c) {
                          c.credentials = [&] {
                              note();
                              return credentials{.user = {}, .password = "secret"};
                          };
                          if (address.find("cluster") != std::string::npos)
                              c.advanced.may_connect = [&](std::string_view, std::uint16_t) {
                                  note();
                                  return true;
                              };
                      }};
        auto decided = 0;
        auto is_ready = false;
        for (auto round = 1; round <= 3; ++round) {
            l.limiter.ready([&](error_code ec) { is_ready = !ec; });
            for (const auto* key : {"a", "b", "c"})
                l.limiter.allow(key, many, [&](error_code ec, const decision& /*d*/) {
                    decided += ec ? 0 : 1;
                });
            is_outside = false;
            run_for(1s);
            is_outside = true;
            BOOST_TEST(is_ready);
            BOOST_TEST(decided == 3 * round);
        }
        BOOST_TEST(inside > 0);
        BOOST_TEST(outside == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::cluster_trouble

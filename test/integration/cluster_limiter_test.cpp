// SPDX-License-Identifier: BSL-1.0
//
// A limiter on a real cluster: which node decides a call, also after slots have moved and masters
// failed, and addresses that are wrong. What becomes of calls meanwhile: see
// test/scenario/cluster_test.cpp.

#include "cluster_load.hpp"
#include <support/problems.hpp>

#include <support/certificates.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(clusters)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::address_of;
using test::keys_on;
using test::live;
using test::redis_cluster;
using test::slot_of;
using load = test::cluster_load;

const auto three_per_hour = policy{"three", sliding_log(3, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(each_key_is_decided_by_the_node_that_serves_it) {
    auto c = redis_cluster{};
    for (const auto resp : {2, 3}) {
        // One node is enough to find the others.
        auto l = live{"redis+cluster://" + c.endpoint(1),
                      [resp](config& s) { s.advanced.resp_version = resp; }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST(!ec, ec.message());
            BOOST_TEST((l.limiter.health().state == health_state::ready));
            for (auto i = 0; i < 200; ++i) {
                const auto key = "resp" + std::to_string(resp) + "-" + std::to_string(i);
                for (auto n = 1; n <= 4; ++n) {
                    const auto d = co_await l.limiter.allow(key, three_per_hour);
                    BOOST_REQUIRE(d.allowed() == (n <= 3));
                }
            }
        });
        BOOST_TEST(!l.limiter.last_error());
        BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    }
    for (std::size_t i = 0; i < c.size(); ++i)
        BOOST_TEST(c.connect(i).keys().size() > 100U);
}

BOOST_AUTO_TEST_CASE(a_node_is_connected_to_when_a_call_needs_it) {
    auto c = redis_cluster{};
    auto l = live{address_of(c)};
    const auto key = keys_on(c, 2, 1).front();
    l.run([&]() -> asio::awaitable<void> {
        BOOST_TEST((co_await l.limiter.allow(key, three_per_hour)).allowed());
    });
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto own = c.connect(i);
        BOOST_TEST(test::calls_of(own, "evalsha") == (i == 2 ? 2 : 0));
        BOOST_TEST(test::calls_of(own, "script|load") == (i == 2 ? 2 : 0));
    }
}

BOOST_AUTO_TEST_CASE(slots_move_under_load_and_every_call_is_decided_exactly_once) {
    auto c = redis_cluster{};
    auto l = live{address_of(c), [](config& s) { s.timeout = 10s; }};
    const auto keys = keys_on(c, 0, 6);
    const auto move = [&](std::uint16_t slot, auto decide) {
        c.begin_migration(slot, 0, 1);
        while (c.move_keys(slot, 0, 1, 1) != 0)
            decide(50);
        decide(50);
        c.end_migration(slot, 0, 1);
    };
    test::check_moving_slots(c, l, fixed_window(400, 1h).from_first(), 400, move);
    for (const auto& key : keys)
        BOOST_TEST(c.owner(slot_of(key)) == 1U);
}

/// A node does not let scripts and modules name a key that it does not have any more.
BOOST_AUTO_TEST_CASE(calls_that_erase_a_key_are_decided_while_its_hash_slot_moves) {
    auto c = redis_cluster{};
    auto l = live{address_of(c), [](config& s) { s.advanced.hash_tags = 1; }};
    const auto with_log = policy{"log", gcra(100, 1h), sliding_log(50, 1h)};
    l.run([&]() -> asio::awaitable<void> {
        for (const auto* key : {"erased", "other"})
            (void)co_await l.limiter.allow(key, with_log);
    });
    const auto slot = std::size_t{redis::key_tags{1}.slot(0)};
    const auto from = c.owner(slot);
    c.begin_migration(slot, from, (from + 1) % c.size());
    auto over = 0;
    const auto decided = [&](error_code ec, const decision&) {
        BOOST_TEST(!ec, ec.message());
        ++over;
    };
    l.run([&]() -> asio::awaitable<void> {
        l.limiter.allow("other", with_log, decided);
        l.limiter.charge("erased", with_log, decided);
        l.limiter.reset("erased", with_log, decided);
        co_await test::until([&] { return over == 3; });
        const auto d = co_await l.limiter.peek("other", with_log, {.cost = 0});
        BOOST_TEST(d.rules[1].balance == 48);
    });
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_CASE(a_replica_that_becomes_the_master_is_followed) {
    auto c = redis_cluster{{.masters = 3, .replicas = 1}};
    auto l = live{address_of(c), [](config& s) { s.timeout = 20s; }};
    const auto keys = keys_on(c, 0, 3);
    auto all = load{};
    all.start(l, 10, keys, policy{"p", gcra(1'000'000, 1h)});
    l.run([&]() -> asio::awaitable<void> { co_await all.until_decided(200); });
    c.failover(c.replica(0)); // the old master stays, as a replica
    l.run([&]() -> asio::awaitable<void> { co_await all.until_decided(200); });
    BOOST_TEST(all.unknown == 0);
    BOOST_TEST(all.others.empty());
    c.await_agreement();
    c.kill(c.replica(0));
    c.failover(0, redis_cluster::takeover);
    l.run([&]() -> asio::awaitable<void> {
        co_await all.until_decided(200);
        co_await all.end();
    });
}

BOOST_AUTO_TEST_CASE(checks_of_one_call_must_be_in_one_slot) {
    auto c = redis_cluster{};
    auto l = live{address_of(c)};
    const auto here = keys_on(c, 0, 1).front();
    const auto there = keys_on(c, 1, 1).front();
    const auto other = policy{"other", gcra(5, 1h)};
    l.run([&]() -> asio::awaitable<void> {
        auto same = std::vector<check_item>{{here, three_per_hour}, {here, other}};
        BOOST_TEST((co_await l.limiter.allow_all(same)).allowed());
        auto apart = std::vector<check_item>{{here, three_per_hour}, {there, other}};
        const auto [ec, d] = co_await l.limiter.allow_all(apart, asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == errc::invalid_argument));
        BOOST_TEST(ec.message().find("slot") != std::string::npos, ec.message());
    });
}

BOOST_AUTO_TEST_CASE(a_cluster_speaks_tls_to_all_nodes) {
    auto ca = test::certificate_authority{};
    auto c = redis_cluster{{.tls = ca.sign("node"), .tls_ca = ca.file()}};
    auto l =
        live{address_of(c, "rediss+cluster://"), [&](config& s) { s.tls.ca_file = ca.file(); }};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        for (std::size_t node = 0; node < c.size(); ++node)
            BOOST_TEST(
                (co_await l.limiter.allow(keys_on(c, node, 1).front(), three_per_hour)).allowed());
    });
}

BOOST_AUTO_TEST_CASE(a_forbidden_node_is_not_connected_to) {
    auto c = redis_cluster{};
    const auto forbidden = c.port(2);
    auto l = live{"redis+cluster://" + c.endpoint(0), [&](config& s) {
                      s.timeout = 100ms;
                      s.advanced.may_connect = [=](std::string_view host, std::uint16_t port) {
                          return host == "127.0.0.1" && port != forbidden;
                      };
                  }};
    const auto key = keys_on(c, 2, 1).front();
    const auto reason = "config::advanced.may_connect does not allow node " + c.endpoint(2);
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works(keys_on(c, 1, 1).front(), three_per_hour);
        for (auto text = std::string{}; text != reason;) { // not that of a call that came too late
            co_await l.until_code(key, three_per_hour, errc::unavailable);
            text = l.limiter.last_error().value_or(problem{}).text;
        }
    });
}

BOOST_AUTO_TEST_CASE(a_slot_without_an_owner_is_named) {
    auto c = redis_cluster{{.arguments = {"--cluster-require-full-coverage", "no"}}};
    const auto key = keys_on(c, 0, 1).front();
    const auto slot = std::to_string(slot_of(key));
    for (std::size_t i = 0; i < c.size(); ++i)
        c.connect(i).must({"CLUSTER", "DELSLOTS", slot});
    auto l = live{address_of(c), [](config& s) { s.timeout = 150ms; }};
    l.run([&]() -> asio::awaitable<void> {
        for (auto text = std::string{}; text.find("slot") == std::string::npos;) {
            co_await l.until_code(key, three_per_hour, errc::unavailable);
            text = l.limiter.last_error().value_or(problem{}).text;
        }
        for (std::size_t i = 0; i < c.size(); ++i)
            c.connect(i).must({"CLUSTER", "SETSLOT", slot, "NODE", c.id(1)});
        co_await l.until_it_works(key, three_per_hour);
    });
}

/// CLUSTER INFO is not needed: without it, each map is believed.
BOOST_AUTO_TEST_CASE(a_user_needs_permission_for_the_map) {
    auto c = redis_cluster{};
    const auto let = [&](const std::string& more) {
        for (std::size_t i = 0; i < c.size(); ++i)
            c.connect(i).must({"ACL", "SETUSER", "ann", "reset", "on", ">pw", "~colimit:*", "+@all",
                               "-@dangerous", more});
    };
    auto l = live{"redis+cluster://ann:pw@" + c.endpoint(0)};
    let("-cluster");
    l.run([&]() -> asio::awaitable<void> {
        const auto code = co_await l.ready();
        BOOST_TEST((code == errc::auth_failed), code.message());
        const auto [ec, d] = co_await l.allow("k", three_per_hour);
        BOOST_TEST((ec == errc::auth_failed), ec.message());
        const auto text = l.limiter.last_error().value().text;
        BOOST_TEST(text.starts_with("node " + c.endpoint(0) + ": no map of the cluster: NOPERM "),
                   text);
        let("+cluster|slots");
        co_await l.until_it_works("k", three_per_hour);
    });
}

/// Every other slot of node 0 belongs to node 1: the map has thousands of ranges.
BOOST_AUTO_TEST_CASE(a_map_of_many_ranges_is_read) {
    auto c = redis_cluster{};
    for (std::size_t i = 0; i < c.size(); ++i) {
        auto own = c.connect(i);
        for (auto slot = 1; slot < 5'000; slot += 2)
            own.must({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", c.id(1)});
    }
    auto l = live{address_of(c)};
    l.run([&]() -> asio::awaitable<void> {
        const auto ec = co_await l.ready();
        BOOST_TEST(!ec, ec.message());
        for (auto i = 0; i < 200; ++i)
            BOOST_TEST(
                (co_await l.limiter.allow("key" + std::to_string(i), three_per_hour)).allowed());
    });
    BOOST_TEST(!l.limiter.last_error());
}

BOOST_AUTO_TEST_CASE(a_server_that_is_in_no_cluster_is_refused_with_its_address) {
    auto server = test::redis_server{{.tcp = true}};
    for (const auto resp : {2, 3}) {
        auto l =
            live{"redis+cluster://127.0.0.1:" + std::to_string(server.port()), [resp](config& s) {
                     s.advanced.resp_version = resp;
                     test::give_up_early(s);
                 }};
        l.run([&]() -> asio::awaitable<void> {
            const auto code = co_await l.ready();
            BOOST_TEST((code == errc::bad_reply), code.message());
            const auto [ec, d] = co_await l.allow("k", three_per_hour);
            BOOST_TEST((ec == errc::bad_reply), ec.message());
        });
        BOOST_TEST(l.limiter.last_error().value().text.ends_with(
            "a server that is in no cluster; its address is redis://host:port"));
        BOOST_TEST((l.limiter.health().state == health_state::refused));
    }
}

BOOST_AUTO_TEST_SUITE_END()

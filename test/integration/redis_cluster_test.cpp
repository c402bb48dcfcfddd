// SPDX-License-Identifier: BSL-1.0
//
// Slots, maps and redirections of a real cluster: what the library reads is what CLUSTER NODES
// says, while masters fail and slots move.

#include <redis/cluster/cluster_info.hpp>
#include <redis/cluster/map_refresh.hpp>
#include <redis/cluster/redirection.hpp>
#include <redis/cluster/slot_map_reader.hpp>
#include <redis/protocol/hash_slot.hpp>
#include <redis/protocol/key.hpp>
#include <support/certificates.hpp>
#include <support/redis_cluster.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(redis_clusters)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::redis_cluster;

const auto cluster_info_and_slots = [] {
    auto out = std::string{};
    redis::resp::append_command(out, {"CLUSTER", "INFO"});
    redis::resp::append_command(out, {"CLUSTER", "SLOTS"});
    return out;
}();

struct node_view {
    redis::cluster_info info{};
    redis::slot_map map;
};

/// Reads the replies to the two commands.
[[nodiscard]] node_view receive_view(test::raw_client& client, std::string_view host = "asked") {
    auto view = node_view{};
    view.info = client.receive([](const redis::resp::decoder& d, std::string_view bytes) {
        return redis::read_cluster_info(d.text(d.first(), bytes)).value();
    });
    auto read = client.receive([&](const redis::resp::decoder& d, std::string_view bytes) {
        return redis::read_slot_map(d, bytes, host);
    });
    BOOST_TEST_REQUIRE(read.map.has_value(), read.problem);
    view.map = std::move(*read.map);
    return view;
}

[[nodiscard]] node_view view_of(test::raw_client client) {
    client.send(cluster_info_and_slots);
    return receive_view(client);
}

/// The same from CLUSTER NODES, which lists replicas that are not in step too.
[[nodiscard]] redis::slot_map map_of(const std::vector<test::cluster_node>& known) {
    auto masters = std::vector<redis::host_port>{};
    auto replicas = std::vector<redis::host_port>{};
    auto ranges = std::vector<redis::slot_map::range>{};
    for (const auto& n : known) {
        const auto address = redis::host_port{n.host, n.port};
        if (!n.is_master()) {
            replicas.push_back(address);
            continue;
        }
        for (const auto& [first, last] : n.slots)
            ranges.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last),
                              static_cast<std::uint16_t>(masters.size())});
        masters.push_back(address);
    }
    return {std::move(masters), std::move(replicas), std::move(ranges)};
}

/// All running nodes have one map, and it is that of CLUSTER NODES. Returns it.
redis::slot_map check_maps(const redis_cluster& cluster) {
    auto maps = std::vector<redis::slot_map>{};
    for (std::size_t i = 0; i < cluster.size(); ++i) {
        if (!cluster.is_running(i))
            continue;
        for (const auto* protocol : {"2", "3"}) {
            auto client = cluster.connect(i);
            client.must({"HELLO", protocol});
            maps.push_back(view_of(std::move(client)).map);
        }
        auto known = cluster.known_by(i);
        std::erase_if(known, [](const test::cluster_node& n) { return n.has_flag("fail"); });
        maps.push_back(map_of(known));
    }
    for (const auto& m : maps)
        BOOST_TEST((m == maps.front()));
    return maps.front();
}

[[nodiscard]] redis::host_port address_of(const redis_cluster& cluster, std::size_t i) {
    return {"127.0.0.1", cluster.port(i)};
}

} // namespace

BOOST_AUTO_TEST_CASE(slots_of_keys_are_those_that_the_server_computes) {
    auto server = test::redis_server{{.arguments = {"--cluster-enabled", "yes"}}};
    auto client = server.connect();
    auto keys = std::vector<std::string>{"", "{}", "{}{a}", "}{", "a{b}c", "{a}{b}", "{{a}}", "{a"};
    for (std::size_t i = 0; i < redis::key_tags::usual; ++i)
        keys.emplace_back(test::usual_tags.text(i));
    auto random = test::rng{5};
    for (int i = 0; i < 20'000; ++i) {
        auto key = std::string(random.below(24), '\0');
        for (auto& c : key)
            c = random.percent(25) ? random.pick({'{', '}'}) : static_cast<char>(random.bits());
        keys.push_back(std::move(key));
    }
    auto out = std::string{};
    for (const auto& key : keys)
        redis::resp::append_command(out, {"CLUSTER", "KEYSLOT", key});
    client.send(out);
    for (const auto& key : keys)
        BOOST_TEST_REQUIRE(client.receive().integer == redis::hash_slot(key));
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_know_its_address_has_that_under_which_it_was_asked) {
    auto server = test::redis_server{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    for (const auto* protocol : {"2", "3"}) {
        auto client = server.connect();
        client.must({"HELLO", protocol});
        client.send(cluster_info_and_slots);
        BOOST_TEST((receive_view(client).map == redis::slot_map{}));
    }
    server.connect().must({"CLUSTER", "ADDSLOTSRANGE", "0", "9", "20", "20"});
    for (const auto* type : {"ip", "hostname", "unknown-endpoint"}) {
        // The host is empty, `?` or null.
        server.connect().must({"CONFIG", "SET", "cluster-preferred-endpoint-type", type});
        for (const auto* protocol : {"2", "3"}) {
            auto client = server.connect();
            client.must({"HELLO", protocol});
            client.send(cluster_info_and_slots);
            const auto map = receive_view(client, "10.1.2.3").map;
            BOOST_TEST((map == redis::slot_map{
                                   {{"10.1.2.3", server.port()}}, {}, {{0, 9, 0}, {20, 20, 0}}}));
        }
    }
}

/// 8,192 ranges: larger than other replies may be.
BOOST_AUTO_TEST_CASE(a_map_of_very_many_ranges_is_read) {
    auto server = test::redis_server{{.tcp = true, .arguments = {"--cluster-enabled", "yes"}}};
    auto client = server.connect();
    auto out = std::string{};
    redis::resp::append_array(out, 2 + redis::hash_slot_count / 2);
    redis::resp::append_bulk(out, "CLUSTER");
    redis::resp::append_bulk(out, "ADDSLOTS");
    auto expected = std::vector<redis::slot_map::range>{};
    for (std::uint16_t slot = 0; slot < redis::hash_slot_count; slot = std::uint16_t(slot + 2)) {
        redis::resp::append_bulk(out, std::to_string(slot));
        expected.push_back({slot, slot, 0});
    }
    client.send(out);
    BOOST_TEST(client.receive().text == "OK");

    auto context = asio::io_context{};
    auto socket = asio::local::stream_protocol::socket{context};
    socket.connect({server.socket()});
    asio::write(socket, asio::buffer("CLUSTER SLOTS\r\n", 15));
    auto decoder = redis::resp::decoder{redis::resp::decoder::long_bulks::empty, redis::map_bounds};
    auto received = std::string{};
    auto state = redis::resp::progress::need_more;
    while (state == redis::resp::progress::need_more) {
        char piece[4'096];
        received.append(piece, socket.read_some(asio::buffer(piece)));
        state = decoder.feed(received);
    }
    BOOST_TEST_REQUIRE((state == redis::resp::progress::complete));
    BOOST_TEST(decoder.nodes().size() > redis::resp::reply_nodes);
    const auto result = redis::read_slot_map(decoder, received, "asked");
    BOOST_TEST_REQUIRE(result.map.has_value(), result.problem);
    BOOST_TEST((*result.map == redis::slot_map{{{"asked", server.port()}}, {}, expected}));
}

BOOST_AUTO_TEST_CASE(a_server_without_a_cluster_says_so) {
    auto server = test::redis_server{};
    auto client = server.connect();
    auto out = std::string{};
    redis::resp::append_command(out, {"CLUSTER", "SLOTS"});
    client.send(out);
    const auto read = client.receive([](const redis::resp::decoder& d, std::string_view bytes) {
        return redis::read_slot_map(d, bytes, "asked");
    });
    BOOST_TEST(read.is_refused);
    BOOST_TEST(read.problem.find("cluster support disabled") != std::string::npos, read.problem);
}

BOOST_AUTO_TEST_CASE(the_map_is_that_of_cluster_nodes_while_masters_fail_and_slots_move) {
    const auto began = std::chrono::steady_clock::now();
    auto cluster = redis_cluster{{.masters = 3, .replicas = 1}};
    const auto took = std::chrono::steady_clock::now() - began;
    BOOST_TEST_MESSAGE("3 masters and 3 replicas agreed after "
                       << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                       << " ms");
    const auto first = check_maps(cluster);
    BOOST_TEST(first.masters().size() == 3U);
    BOOST_TEST(first.replicas().size() == 3U);
    BOOST_TEST(first.ranges().size() == 3U);
    for (std::uint16_t i = 0; i < 3; ++i) {
        const auto slot = static_cast<std::uint16_t>(i * 16'384 / 3);
        BOOST_TEST((*first.owner(slot) == address_of(cluster, i)));
        BOOST_TEST(cluster.owner(slot) == i);
    }

    cluster.failover(cluster.replica(0));
    cluster.await_agreement();
    const auto second = check_maps(cluster);
    BOOST_TEST((*second.owner(0) == address_of(cluster, cluster.replica(0))));
    BOOST_TEST(second.replicas().size() == 3U);

    cluster.migrate_slot(6'000, 1, 2);
    cluster.await_agreement();
    const auto third = check_maps(cluster);
    auto patched = second;
    BOOST_TEST(patched.apply_moved(6'000, address_of(cluster, 2)));
    BOOST_TEST((third == patched));
    BOOST_TEST(third.ranges().size() == 5U);

    // Its replica follows by itself.
    cluster.kill(1);
    cluster.await_agreement();
    const auto fourth = check_maps(cluster);
    BOOST_TEST((*fourth.owner(6'001) == address_of(cluster, cluster.replica(1))));
    BOOST_TEST(cluster.owner(6'001) == cluster.replica(1));
    cluster.restart(1);
    cluster.await_agreement();
    BOOST_TEST(check_maps(cluster).replicas().size() == 3U);
}

BOOST_AUTO_TEST_CASE(redirections_name_the_slot_and_the_node_to_which_it_moves) {
    auto cluster = redis_cluster{};
    const auto slot = std::size_t{redis::hash_slot("{a}")};
    const auto from = cluster.owner(slot);
    const auto to = (from + 1) % 3;
    const auto other = (from + 2) % 3;
    auto source = cluster.connect(from);
    auto target = cluster.connect(to);
    const auto expect = [&](const test::reply& reply, redis::redirection_kind kind,
                            std::size_t node) {
        const auto read = redis::read_redirection(reply.text, "asked");
        BOOST_TEST_REQUIRE(read.has_value(), reply.text);
        BOOST_TEST((*read == redis::redirection{kind, static_cast<std::uint16_t>(slot),
                                                address_of(cluster, node)}));
    };
    using enum redis::redirection_kind;
    source.must({"SET", "{a}1", "x"});
    source.must({"SET", "{a}2", "x"});
    expect(target({"GET", "{a}1"}), moved, from);

    cluster.begin_migration(slot, from, to);
    BOOST_TEST(source.get("{a}1").value() == "x");
    expect(source({"GET", "{a}3"}), ask, to);
    expect(target({"GET", "{a}3"}), moved, from);
    target.must({"ASKING"});
    BOOST_TEST(!target.get("{a}3").has_value());
    BOOST_TEST(cluster.move_keys(slot, from, to, 1) == 1U);
    BOOST_TEST(source({"MGET", "{a}1", "{a}2"}).text.starts_with("TRYAGAIN"));
    BOOST_TEST(cluster.move_keys(slot, from, to) == 1U);
    expect(source({"GET", "{a}1"}), ask, to);

    auto map = view_of(cluster.connect(from)).map;
    BOOST_TEST((*map.owner(static_cast<std::uint16_t>(slot)) == address_of(cluster, from)));
    cluster.end_migration(slot, from, to);
    expect(source({"GET", "{a}1"}), moved, to);
    expect(cluster.connect(other)({"GET", "{a}1"}), moved, to);
    BOOST_TEST(target.get("{a}2").value() == "x");
    cluster.await_agreement();
    BOOST_TEST(map.apply_moved(static_cast<std::uint16_t>(slot), address_of(cluster, to)));
    BOOST_TEST((map == check_maps(cluster)));
}

BOOST_AUTO_TEST_CASE(a_cluster_over_tls_names_its_tls_ports_or_none_to_a_client_without_tls) {
    auto ca = test::certificate_authority{};
    auto cluster = redis_cluster{{.masters = 2, .tls = ca.sign("server"), .tls_ca = ca.file()}};
    auto client = cluster.connect(0);
    auto out = std::string{};
    redis::resp::append_command(out, {"CLUSTER", "SLOTS"});
    client.send(out);
    const auto read = client.receive([](const redis::resp::decoder& d, std::string_view bytes) {
        return redis::read_slot_map(d, bytes, "asked");
    });
    if (read.map) // Redis 7.0
        BOOST_TEST((*read.map->owner(0) == address_of(cluster, 0)));
    else
        BOOST_TEST(read.problem == "range 1: port 0 is not 1 to 65535");
}

/// CLUSTER SLOTS has no version; the epoch of CLUSTER INFO, asked before it, shows an old map.
BOOST_AUTO_TEST_CASE(a_node_that_missed_a_failover_has_a_lower_epoch) {
    auto cluster = redis_cluster{{.masters = 3, .replicas = 1}};
    auto client = cluster.connect(0);
    const auto before = view_of(cluster.connect(1));
    BOOST_TEST(before.info.is_ok);
    cluster.stop(0);
    client.send(cluster_info_and_slots); // it replies as soon as it continues
    cluster.failover(cluster.replica(0), redis_cluster::takeover);
    cluster.await_agreement();
    const auto after = view_of(cluster.connect(1));
    BOOST_TEST(after.info.epoch > before.info.epoch);
    BOOST_TEST((after.map != before.map));
    cluster.cont(0);
    const auto late = receive_view(client);
    if (late.map == before.map)
        BOOST_TEST(late.info.epoch < after.info.epoch);
    else
        BOOST_TEST(late.info.epoch == after.info.epoch);
    BOOST_TEST_MESSAGE("the node that was frozen had "
                       << (late.map == before.map ? "an old" : "a new") << " map");
    cluster.await_agreement();
    BOOST_TEST(view_of(cluster.connect(0)).info.epoch == after.info.epoch);
}

BOOST_AUTO_TEST_CASE(refreshes_find_the_new_master_soon_after_a_crash) {
    auto cluster = redis_cluster{{.masters = 3, .replicas = 1}};
    const auto now = [] {
        return std::chrono::duration_cast<std::chrono::microseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    };
    auto refresh = redis::map_refresh{{}, {address_of(cluster, 0)}};
    auto queries = 0;
    const auto ask = [&] {
        const auto query = refresh.wake(now());
        if (!query)
            return;
        ++queries;
        try {
            auto client = test::raw_client{"redis://127.0.0.1:" + std::to_string(query->node.port)};
            client.send(cluster_info_and_slots);
            auto view = receive_view(client, query->node.host);
            refresh.on_reply(query->number, std::move(view.map), view.info, now());
        } catch (const std::runtime_error&) {
            refresh.on_failure(query->number, now());
        }
    };
    ask();
    BOOST_TEST_REQUIRE(refresh.has_map());
    const auto old = address_of(cluster, 0);
    const auto replacement = address_of(cluster, cluster.replica(0));
    BOOST_TEST((*refresh.map().owner(0) == old));

    cluster.kill(0);
    const auto end = now() + 15'000'000;
    auto promoted_at = std::int64_t{0}; // the replica says that it serves the slot
    auto look = cluster.connect(cluster.replica(0));
    while (*refresh.map().owner(0) != replacement && now() < end) {
        refresh.request(now()); // as each call to this slot does
        ask();
        if (promoted_at == 0 && look({"SET", "{mm}", "x"}).text == "OK")
            promoted_at = now();
        std::this_thread::sleep_for(1ms);
    }
    BOOST_TEST((*refresh.map().owner(0) == replacement));
    BOOST_TEST(queries < 60);
    BOOST_TEST_MESSAGE("the new master was known " << (now() - promoted_at) / 1'000
                                                   << " ms after it served, after " << queries
                                                   << " queries");
}

BOOST_AUTO_TEST_SUITE_END()

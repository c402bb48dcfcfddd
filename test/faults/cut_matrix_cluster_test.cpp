// SPDX-License-Identifier: BSL-1.0
//
// The cut matrix on a cluster of two nodes: the query for the map, the handshake with a node and
// its batches, and batches that a node sends to the other one with MOVED, and with ASK, where the
// script is not known the first time.

#include <faults/cut_matrix.hpp>
#include <support/redis_cluster.hpp>
#include <support/unit_test.hpp>
#include <support/usual_tags.hpp>

#include <cstddef>
#include <vector>

BOOST_AUTO_TEST_SUITE(cut_matrix_on_a_cluster)

namespace {

using namespace colimit;
using test::asked_call;
using test::bucket_policy;
using test::conversation;
using test::conversation_connection;
using test::cut_range;
using test::script_handshake;

// Connections of each conversation.
constexpr std::size_t map = 0;
constexpr std::size_t first = 1;
constexpr std::size_t second = 2;

/// HELLO, CLUSTER INFO and CLUSTER SLOTS.
constexpr std::size_t map_query = 3;

[[nodiscard]] std::vector<conversation_connection> connections() {
    return {{.handshake = map_query, .node = 0, .number = 1, .is_for_map = true},
            {.handshake = script_handshake, .node = 0, .number = 2},
            {.handshake = script_handshake, .node = 1, .number = 1}};
}

/// A cluster in which the second node is about to get a slot of the first one.
class two_nodes {
  public:
    two_nodes()
        : cluster_({.masters = 2,
                    // A node that waits for the processor is not taken for a dead one.
                    .arguments = {"--cluster-node-timeout", "30000"}}) {
        for (auto i = 0; cluster_.owner(moving_) != 0; ++i)
            moving_ = test::slot_of(std::to_string(i));
        cluster_.begin_migration(moving_, 0, 1);
    }

    [[nodiscard]] test::trial_servers servers() {
        return {.direct = "redis+cluster://" + cluster_.endpoint(0) + ',' + cluster_.endpoint(1),
                .nodes = {cluster_.server(0).unix_address(), cluster_.server(1).unix_address()},
                .announced = {cluster_.port(0), cluster_.port(1)}};
    }

    [[nodiscard]] auto on(std::size_t node) const {
        return [node, middle = 8'192U, moving = moving_](std::size_t slot) {
            return slot != moving && (slot >= middle) == (node == 1);
        };
    }
    [[nodiscard]] auto on_the_move() const {
        return [moving = moving_](std::size_t slot) { return slot == moving; };
    }

  private:
    test::redis_cluster cluster_;
    std::size_t moving_ = 16'383;
};

/// Two batches on one node, and one on the other.
[[nodiscard]] conversation direct(const two_nodes& c) {
    return {.name = "cluster",
            .connections = connections(),
            .calls = {{"aaa", &bucket_policy(), 11, {{first, script_handshake}}, c.on(0)},
                      {"bbcc", &bucket_policy(), 3'000, {{second, script_handshake}}, c.on(1)}}};
}

[[nodiscard]] conversation moved(const two_nodes& c) {
    const auto path =
        std::vector<test::place>{{second, script_handshake}, {first, script_handshake}};
    return {.name = "moved",
            .connections = connections(),
            .calls = {{"aaa", &bucket_policy(), 11, path, c.on(0)}},
            .has_stale_map = true};
}

/// The second node gets ASKING and EVALSHA, and replies NOSCRIPT; then SCRIPT LOAD, ASKING and
/// EVAL.
[[nodiscard]] conversation asked(const two_nodes& c) {
    const auto path =
        std::vector<test::place>{{first, script_handshake}, {second, script_handshake + 4}};
    return {.name = "ask",
            .connections = connections(),
            .calls = {{"aaa", &bucket_policy(), 11, path, c.on_the_move()},
                      {"bbcc", &bucket_policy(), 100, path, c.on_the_move()}},
            .forgotten = test::place{second, script_handshake + 1}};
}

void cut(two_nodes& c, const conversation& said, const std::vector<cut_range>& ranges) {
    auto matrix = test::cut_matrix{c.servers()};
    for (const auto& range : ranges)
        for (const auto kind : test::matrix_kinds)
            matrix.cut(said, range, kind);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_map_a_handshake_and_batches_cut_anywhere_end_as_the_table_says) {
    auto c = two_nodes{};
    cut(c, direct(c), {{.connection = map}, {.connection = first}});
}

BOOST_AUTO_TEST_CASE(batches_that_have_moved_cut_anywhere_end_as_the_table_says) {
    auto c = two_nodes{};
    cut(c, moved(c), {{second, script_handshake}, {first, script_handshake}});
}

BOOST_AUTO_TEST_CASE(batches_whose_slot_is_moving_cut_anywhere_end_as_the_table_says) {
    auto c = two_nodes{};
    cut(c, asked(c), {{first, script_handshake}, {second, script_handshake}});
}

BOOST_AUTO_TEST_SUITE_END()

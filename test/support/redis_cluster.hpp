// SPDX-License-Identifier: BSL-1.0
//
// A private cluster for the duration of a test: masters with their replicas, each a redis_server on
// a free port of 127.0.0.1, or of an address of its own. Node i is a master if i < masters;
// replicas follow, in the order of their masters.
//
//     redis_cluster cluster{{.masters = 3, .replicas = 1}};
//     limiter l{executor, cluster.address(0)};
//     cluster.kill(0);
//     cluster.failover(cluster.replica(0), redis_cluster::takeover);
//     cluster.await_agreement();
//
// A slot moves in steps, so that a test can do something in between:
//
//     cluster.begin_migration(slot, 0, 1);       // 0 replies ASK for keys that it does not have
//     cluster.move_keys(slot, 0, 1, 10);         // TRYAGAIN for several keys of which one is there
//     cluster.end_migration(slot, 0, 1);         // 0 replies MOVED
//
// or, on servers that can, as a whole, with a pause of writes at the end:
//
//     cluster.order_whole_migration(slot, 0, 1);
//     while (!cluster.owns(1, slot)) {
//     }

#pragma once

#include <support/redis_server.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

struct redis_cluster_options {
    std::size_t masters = 3;
    std::size_t replicas = 0; ///< of each master
    /// Nodes have TCP ports for TLS only, for clients and for each other, with this identity.
    std::optional<identity> tls = {};
    /// The file of the CA that has signed it.
    std::string tls_ca = {};
    /// Node i is at 127.0.0.(2 + i), instead of all being at 127.0.0.1: for partitions.
    bool own_hosts = false;
    /// Further arguments of each redis-server.
    std::vector<std::string> arguments = {};
};

/// A line of CLUSTER NODES.
struct cluster_node {
    std::string id;
    std::string host;
    std::uint16_t port = 0;
    std::string flags;                                      ///< such as `myself,master`
    std::string master_id;                                  ///< of a replica, else `-`
    std::string link;                                       ///< `connected` or `disconnected`
    std::vector<std::pair<std::size_t, std::size_t>> slots; ///< ranges: the first and the last

    [[nodiscard]] bool has_flag(std::string_view flag) const;
    [[nodiscard]] bool is_master() const { return has_flag("master"); }
    [[nodiscard]] bool serves(std::size_t slot) const;
};

/// Reads the reply of CLUSTER NODES.
[[nodiscard]] std::vector<cluster_node> parse_cluster_nodes(std::string_view text);

class redis_cluster {
  public:
    using options = redis_cluster_options;

    /// Starts the nodes, and waits until they agree.
    /// @throws std::runtime_error with what they say when they do not, within 20 seconds.
    explicit redis_cluster(options wanted = {});

    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
    /// The index of a master's replica, as the cluster began.
    [[nodiscard]] std::size_t replica(std::size_t master, std::size_t number = 0) const noexcept {
        return wanted_.masters + master * wanted_.replicas + number;
    }
    [[nodiscard]] redis_server& server(std::size_t i) { return *nodes_[i]->server; }
    [[nodiscard]] std::uint16_t port(std::size_t i) const { return nodes_[i]->port; }
    [[nodiscard]] const std::string& id(std::size_t i) const { return nodes_[i]->id; }
    [[nodiscard]] const std::string& host(std::size_t i) const { return nodes_[i]->host; }
    /// `HOST:PORT`
    [[nodiscard]] std::string endpoint(std::size_t i) const;
    /// Those of all nodes.
    [[nodiscard]] std::vector<std::string> endpoints() const;
    /// For config::server, as long as that is one node.
    [[nodiscard]] std::string address(std::size_t i) const;
    /// A connection to its unix socket.
    [[nodiscard]] raw_client connect(std::size_t i) const { return nodes_[i]->server->connect(); }

    /// Ends a node at once, as a crash would. Its keys are gone, its part in the cluster is kept.
    void kill(std::size_t i);
    /// Starts it again, empty.
    void restart(std::size_t i);
    /// Halts it, and ends the halt.
    void stop(std::size_t i);
    void cont(std::size_t i);
    /// Neither ended nor halted.
    [[nodiscard]] bool is_running(std::size_t i) const { return nodes_[i]->is_running; }

    enum failover_kind : std::uint8_t {
        agreed,   ///< with the master, which must be alive: no write is lost
        forced,   ///< without the master, with the votes of the others
        takeover, ///< without votes
    };
    /// Makes a replica a master, and waits until it is one; other nodes may not know it yet.
    void failover(std::size_t i, failover_kind kind = agreed);

    /// Waits until all running nodes serve, and agree on who owns which slot and replicates whom.
    /// All slots must have an owner that runs.
    void await_agreement();
    /// What a node knows.
    [[nodiscard]] std::vector<cluster_node> known_by(std::size_t i) const;
    /// The owner of a slot according to the first node that runs; `size()` if it has none.
    [[nodiscard]] std::size_t owner(std::size_t slot) const;
    /// Returns whether a node says that it is the owner of a slot.
    [[nodiscard]] bool owns(std::size_t node, std::size_t slot) const;

    /// The source sends clients that ask for keys which it does not have to the target.
    void begin_migration(std::size_t slot, std::size_t from, std::size_t to);
    /// Moves up to `most` keys; returns how many there were.
    std::size_t move_keys(std::size_t slot, std::size_t from, std::size_t to,
                          std::size_t most = 1'000);
    void move_key(const std::string& name, std::size_t from, std::size_t to);
    /// The target is the owner. All masters are told at once.
    void end_migration(std::size_t slot, std::size_t from, std::size_t to);
    /// All of it.
    void migrate_slot(std::size_t slot, std::size_t from, std::size_t to);
    /// Orders that a slot moves as a whole (CLUSTER MIGRATESLOTS of Valkey 9, CLUSTER MIGRATION
    /// IMPORT of Redis 8.4), which takes a while: see `owns`. Returns the reply, which is an
    /// error on older servers.
    reply order_whole_migration(std::size_t slot, std::size_t from, std::size_t to);

  private:
    struct node {
        std::unique_ptr<redis_server> server;
        std::string host = "127.0.0.1";
        std::uint16_t port = 0;
        std::uint16_t bus_port = 0;
        std::string id;
        bool is_running = true;
    };

    [[nodiscard]] std::unique_ptr<node> start_node() const;
    void make_cluster();
    [[nodiscard]] std::string disagreement() const;
    [[nodiscard]] std::string view_of(std::size_t i) const;

    options wanted_;
    std::vector<std::unique_ptr<node>> nodes_;
};

} // namespace colimit::test

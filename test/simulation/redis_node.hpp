// SPDX-License-Identifier: BSL-1.0
//
// What all simulated servers with data have in common, however they execute calls: replication with
// a lag, the end of a server, and what the nodes of a cluster say about it.

#pragma once

#include "server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::simulation {

class redis_node;

/// What the cluster says to a node.
class slot_rules {
  public:
    virtual ~slot_rules() = default;
    /// Returns the error reply to a command with these keys; empty if the node executes it.
    [[nodiscard]] virtual std::string refusal(const redis_node& at, words keys, bool is_asking) = 0;
    [[nodiscard]] virtual std::string info(const redis_node& at) = 0;
    [[nodiscard]] virtual std::string slots(const redis_node& at) = 0;
};

class redis_node : public server {
  public:
    redis_node(network& of, place where, slot_rules* rules) : server(of, where), rules_(rules) {}

    [[nodiscard]] bool is_master() const noexcept { return master_ == nullptr; }
    [[nodiscard]] bool is_loading() noexcept { return loading_until_ > os().now(); }

    /// Begins to be a replica: has the data of the master, and then its writes a moment later.
    void follow(redis_node& master, std::int64_t lag);
    /// Becomes a master. Writes that have not arrived are lost.
    /// @param is_orderly all have arrived, as with FAILOVER
    void take_over(bool is_orderly);
    /// The replication of its writes stops, without anyone noticing.
    void stop_replication() noexcept {
        for (auto* r : replicas_)
            r->lag_ = never / 2;
    }

    void kill() override;
    /// Starts again, without data, and is loading for so long.
    void start_empty(std::int64_t loading);
    virtual void forget_scripts() = 0;

    [[nodiscard]] virtual bool has(std::string_view key) const = 0;
    /// Returns the keys in a hash slot, which move to another node one after another.
    [[nodiscard]] virtual std::vector<std::string> keys_in(std::size_t slot) const = 0;
    virtual void hand_over(const std::string& key, redis_node& to) = 0;

    bool has_module = false; ///< the server module is loaded

  protected:
    /// A write that arrives at a replica, or that this loses as it takes over before.
    using write = std::function<void(bool is_lost)>;

    /// Sends a write to all replicas.
    void replicate(const std::function<write(redis_node& replica)>& made_for);
    void apply_writes(std::int64_t until);
    virtual void copy_data(const redis_node& master) = 0;
    /// Called when a replica has taken over.
    virtual void be_left() {}
    virtual void clear() = 0;

    /// Replies to PING, ROLE, CLUSTER and the like; returns false for other commands.
    [[nodiscard]] bool greet(session& of, words command, std::string& out);
    /// Returns the error reply of the cluster to a command with these keys; or nothing.
    [[nodiscard]] std::string refusal_of_cluster(words keys, bool is_asking) {
        return rules_ != nullptr ? rules_->refusal(*this, keys, is_asking) : std::string{};
    }
    [[nodiscard]] std::string_view mode() const noexcept {
        return rules_ != nullptr ? "cluster" : "standalone";
    }

    slot_rules* rules_;

  private:
    struct incoming {
        std::int64_t at; ///< when it arrives
        write what;
    };

    void tell_about_cluster(words command, std::string& out);

    redis_node* master_ = nullptr;
    std::vector<redis_node*> replicas_;
    std::int64_t lag_ = 0;
    std::deque<incoming> incoming_;
    std::int64_t loading_until_ = 0;
};

/// Makes the servers of a deployment; no rules: it is in no cluster.
using node_factory = std::function<std::unique_ptr<redis_node>(place, slot_rules*)>;

} // namespace colimit::simulation

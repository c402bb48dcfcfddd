// SPDX-License-Identifier: BSL-1.0
//
// Three masters with a replica each: failovers, and slots that migrate key by key. Each node has
// its own view of the map, which may be out of date.

#pragma once

#include "deployment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colimit::simulation {

/// The masters that serve the slots.
struct slot_view {
    struct range {
        std::size_t first;
        std::size_t last;
        std::size_t node; ///< the index of its master
    };
    std::int64_t epoch = 1;
    std::vector<range> ranges;
    bool is_ok = true; ///< as opposed to `CLUSTERDOWN The cluster is down`

    [[nodiscard]] std::size_t owner(std::size_t slot) const;
    void give(std::size_t slot, std::size_t to);
};

class cluster_deployment final : public deployment, private slot_rules {
  public:
    cluster_deployment(network& net, const node_factory& make, std::vector<std::size_t> slots);

    [[nodiscard]] std::string address() const override;
    void disturb() override;
    void heal() override;

    static constexpr std::size_t masters = 3;

    /// Returns the master that serves a slot.
    [[nodiscard]] std::size_t owner(std::size_t slot) const { return truth_.owner(slot); }
    /// A replica takes over from a master, by order or after its end.
    void fail_over(std::size_t old, bool is_orderly);
    /// Moves a slot, key by key; each node hears of it at another time.
    void migrate(std::size_t slot, std::size_t to);
    /// A slot is being moved, and stays so.
    void begin_migration(std::size_t slot, std::size_t to) {
        migration_ = {slot, truth_.owner(slot), to};
    }
    /// One node believes that another one serves a slot.
    void mislead(std::size_t node, std::size_t slot, std::size_t owner) {
        views_[node].give(slot, owner);
    }
    /// All nodes serve, or say that the cluster is down.
    void set_ok(bool is_ok);
    /// These lost their disks: they know no other node, and the others know no address of them.
    std::set<std::size_t> wiped;
    /// These have no host name, which is what the nodes send to clients.
    std::set<std::size_t> nameless;

    /// Returns whether a failover or a migration has not ended.
    [[nodiscard]] bool is_changing() const noexcept { return is_changing_; }

  private:
    [[nodiscard]] std::string refusal(const redis_node& at, words keys, bool is_asking) override;
    [[nodiscard]] std::string info(const redis_node& at) override;
    [[nodiscard]] std::string slots(const redis_node& at) override;

    struct migration {
        std::size_t slot;
        std::size_t from;
        std::size_t to;
    };

    void replace(std::size_t old, std::size_t chosen, bool is_orderly);
    void rejoin(std::size_t old, std::size_t master);
    void move_states();
    void end_migration();
    void publish();
    [[nodiscard]] std::size_t index_of(const redis_node& s) const;
    [[nodiscard]] std::string refusal_while_migrating(std::size_t node, words keys, bool is_asking,
                                                      bool& serves) const;
    [[nodiscard]] std::size_t replica_of(std::size_t master) const;
    [[nodiscard]] std::string address_of(std::size_t node) const;
    void append_node(std::string& out, std::size_t node) const;
    [[nodiscard]] machine& os() noexcept { return net_.os(); }
    void later(std::int64_t delay, std::function<void()> what);

    network& net_;
    std::vector<std::size_t> slots_; ///< of which some migrate
    slot_view truth_;
    std::array<slot_view, 2 * masters> views_;
    std::array<std::size_t, 2 * masters> followed_{}; ///< the master of each node, or itself
    std::optional<migration> migration_;
    bool is_changing_ = false; ///< one reconfiguration at a time
};

} // namespace colimit::simulation

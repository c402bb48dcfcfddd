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
    cluster_deployment(network& net, const catalogue& names, ledger& records);

    [[nodiscard]] std::string address() const override;
    void disturb() override;
    void heal() override;

  private:
    [[nodiscard]] std::string refusal(const data_server& at, const batch& b,
                                      bool is_asking) override;
    [[nodiscard]] std::string info(const data_server& at) override;
    [[nodiscard]] std::string slots(const data_server& at) override;

    struct migration {
        std::size_t slot;
        std::size_t from;
        std::size_t to;
    };

    void fail_over(bool is_orderly);
    void replace(std::size_t old, std::size_t chosen, bool is_orderly);
    void rejoin(std::size_t old, std::size_t master);
    void migrate();
    void move_states();
    void end_migration();
    void publish();
    void set_ok(bool is_ok);
    [[nodiscard]] std::size_t index_of(const data_server& s) const;
    [[nodiscard]] std::string refusal_while_migrating(std::size_t node, const batch& b,
                                                      bool is_asking, bool& serves) const;
    [[nodiscard]] std::size_t replica_of(std::size_t master) const;
    [[nodiscard]] std::string address_of(std::size_t node) const;
    [[nodiscard]] machine& os() noexcept { return net_.os(); }
    void later(std::int64_t delay, std::function<void()> what);

    static constexpr std::size_t masters = 3;

    network& net_;
    const catalogue& names_;
    slot_view truth_;
    std::array<slot_view, 2 * masters> views_;
    std::array<std::size_t, 2 * masters> followed_{}; ///< the master of each node, or itself
    std::optional<migration> migration_;
    bool is_changing_ = false; ///< one reconfiguration at a time
};

} // namespace colimit::simulation

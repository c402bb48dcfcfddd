// SPDX-License-Identifier: BSL-1.0
//
// A master, two replicas, and three Sentinels: failovers after a crash or a partition, and by
// order.

#pragma once

#include "deployment.hpp"
#include "sentinel_server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colimit::simulation {

class sentinel_deployment final : public deployment {
  public:
    sentinel_deployment(network& net, const node_factory& make);

    [[nodiscard]] std::string address() const override;
    void disturb() override;
    void heal() override;
    [[nodiscard]] std::vector<server*> all() const override;

    [[nodiscard]] redis_node& master() noexcept { return *master_; }
    [[nodiscard]] sentinel_server& sentinel(std::size_t i) { return *sentinels_[i]; }
    /// The master ends, a replica takes over within a second, and the old one comes back as one.
    void crash();
    /// A replica takes over while the master lives on.
    void cut_off();
    /// The same without losses.
    void order_failover();
    bool drops_connections = true; ///< some Sentinels end those of a former master

  private:
    void elect(bool is_orderly);
    void publish();
    void rejoin(redis_node& old, std::int64_t delay);
    [[nodiscard]] redis_node& replica();
    [[nodiscard]] machine& os() noexcept { return net_.os(); }
    void later(std::int64_t delay, std::function<void()> what);

    network& net_;
    std::vector<std::unique_ptr<sentinel_server>> sentinels_;
    redis_node* master_;
    std::int64_t epoch_ = 0;
    bool is_changing_ = false; ///< one failover at a time
};

} // namespace colimit::simulation

// SPDX-License-Identifier: BSL-1.0
//
// A master, two replicas, and three Sentinels: failovers after a crash or a partition, and by
// order.

#pragma once

#include "deployment.hpp"
#include "sentinel_server.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colimit::simulation {

class sentinel_deployment final : public deployment {
  public:
    sentinel_deployment(network& net, const catalogue& names, ledger& records);

    [[nodiscard]] std::string address() const override;
    void disturb() override;
    void heal() override;
    [[nodiscard]] std::vector<server*> all() const override;

  private:
    void crash();
    void cut_off();
    void order_failover();
    void elect(bool is_orderly);
    void publish();
    void rejoin(data_server& old, std::int64_t delay);
    [[nodiscard]] data_server& replica();
    [[nodiscard]] machine& os() noexcept { return net_.os(); }
    void later(std::int64_t delay, std::function<void()> what);

    network& net_;
    std::vector<std::unique_ptr<sentinel_server>> sentinels_;
    data_server* master_;
    std::int64_t epoch_ = 0;
    bool is_changing_ = false; ///< one failover at a time
};

} // namespace colimit::simulation

// SPDX-License-Identifier: BSL-1.0
//
// Servers that belong together: one, those behind Sentinels, or a cluster; and what happens to
// them.

#pragma once

#include "catalogue.hpp"
#include "data_server.hpp"
#include "ledger.hpp"
#include "network.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace colimit::simulation {

enum class topology : std::uint8_t { single, sentinel, cluster };

class deployment {
  public:
    deployment() = default;
    virtual ~deployment() = default;
    deployment(const deployment&) = delete;
    deployment& operator=(const deployment&) = delete;

    /// Returns the address for `config::server`.
    [[nodiscard]] virtual std::string address() const = 0;
    /// One fault of this topology begins, such as a failover, and will end by itself.
    virtual void disturb() = 0;
    /// Ends what has not ended.
    virtual void heal();

    [[nodiscard]] const std::vector<std::unique_ptr<data_server>>& servers() const noexcept {
        return servers_;
    }
    /// All servers, also those without data.
    [[nodiscard]] virtual std::vector<server*> all() const;

  protected:
    std::vector<std::unique_ptr<data_server>> servers_;
};

[[nodiscard]] std::unique_ptr<deployment> make_deployment(topology t, network& net,
                                                          const catalogue& names, ledger& records);

} // namespace colimit::simulation

// SPDX-License-Identifier: BSL-1.0
//
// Servers that belong together, and what happens to them: topology.hpp has the kinds.

#pragma once

#include "network.hpp"
#include "redis_node.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace colimit::simulation {

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

    [[nodiscard]] const std::vector<std::unique_ptr<redis_node>>& servers() const noexcept {
        return servers_;
    }
    /// All servers, also those without data.
    [[nodiscard]] virtual std::vector<server*> all() const;

  protected:
    std::vector<std::unique_ptr<redis_node>> servers_;
};

} // namespace colimit::simulation

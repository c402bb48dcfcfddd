// SPDX-License-Identifier: BSL-1.0
//
// Faults of a server and its connections while processes call: scripts are flushed a hundred times
// per second, connections are killed, it is frozen, it is killed with all its state.

#pragma once

#include "checker.hpp"

#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace colimit::oracle {

class fault_injector {
  public:
    /// @param own null for a server of another program: it is not frozen and not killed
    fault_injector(test::redis_server* own, std::string server, std::uint64_t seed);

    /// Makes trouble until `over` says so; ends with a server that works.
    void make(const std::string& prefix, const std::function<bool()>& over);

    /// When state was lost, by the clock that servers of this machine have too.
    [[nodiscard]] const std::vector<loss>& losses() const noexcept { return losses_; }
    /// Returns the tokens that servers had granted before they were killed, except in the last
    /// moments.
    [[nodiscard]] const totals& executed() const noexcept { return executed_; }

  private:
    void step(const std::string& prefix, std::uint64_t tick);
    void kill(const std::string& prefix);
    void freeze();

    test::redis_server* own_;
    std::string server_;
    std::mt19937_64 random_;
    std::unique_ptr<test::raw_client> client_;
    std::vector<loss> losses_;
    totals executed_{};
};

} // namespace colimit::oracle

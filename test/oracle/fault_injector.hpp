// SPDX-License-Identifier: BSL-1.0
//
// Faults of a server and its connections while processes call: scripts are flushed a hundred times
// per second, connections are killed, it is frozen, it is killed with all its state.

#pragma once

#include "record.hpp"

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
    /// @param before_kill is called before the server is killed with all its state; what it throws
    ///        is ignored, as a busy server does not reply
    fault_injector(test::redis_server* own, std::string server, std::uint64_t seed,
                   std::function<void()> before_kill);

    /// Makes trouble until `over` says so; ends with a server that works.
    void make(const std::function<bool()>& over);

    /// When state was lost, by the clock that servers of this machine have too.
    [[nodiscard]] const std::vector<loss>& losses() const noexcept { return losses_; }

  private:
    void step(std::uint64_t tick);
    void kill();
    void freeze();

    test::redis_server* own_;
    std::string server_;
    std::mt19937_64 random_;
    std::function<void()> before_kill_;
    std::unique_ptr<test::raw_client> client_;
    std::vector<loss> losses_;
};

} // namespace colimit::oracle

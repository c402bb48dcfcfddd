// SPDX-License-Identifier: BSL-1.0
//
// What happens to a server and its connections while processes call.

#pragma once

#include "board.hpp"
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

/// Scripts are flushed a hundred times per second, connections are killed, the server is frozen,
/// and killed, with all its state unless it keeps it.
class fault_injector {
  public:
    /// @param own null for a server of another program: it is not frozen and not killed
    /// @param before_kill is called before the server is killed; what it throws is ignored, as a
    ///        busy server does not reply
    fault_injector(test::redis_server* own, std::string server, std::uint64_t seed,
                   std::function<void()> before_kill);

    /// Is called every ten milliseconds. Leaves a server that works.
    void tick();

    /// When the server was killed.
    [[nodiscard]] const std::vector<loss>& losses() const noexcept { return losses_; }

  private:
    void kill();
    void freeze();

    test::redis_server* own_;
    std::string server_;
    std::mt19937_64 random_;
    std::function<void()> before_kill_;
    std::unique_ptr<test::raw_client> client_;
    std::vector<loss> losses_;
    std::uint64_t ticks_ = 0;
};

/// Runs a bad network between a server and those that use the port of the board. In a process of
/// its own: others that are forked do not keep its connections open.
void serve_bad_network(board& b, const std::string& server, std::uint64_t seed);

/// Counts the sets of holders with more of them than places, or one that ends later than a lease
/// from now. In a process of its own.
void look_at_holders(board& b, const std::string& server, const std::string& prefix);

/// Deletes the records of some request ids.
void forget_requests(test::raw_client& server, const std::string& prefix);

} // namespace colimit::oracle

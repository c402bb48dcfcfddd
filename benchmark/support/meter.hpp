// SPDX-License-Identifier: BSL-1.0
//
// Measures the cost of a run: time, processor time here and in the server, allocations.

#pragma once

#include <support/scenario.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace colimit::benchmark {

class meter {
  public:
    /// Starts measuring. @param sockets of the servers
    explicit meter(std::vector<std::string> sockets = {});
    explicit meter(std::string socket) : meter(std::vector{std::move(socket)}) {}

    /// Returns the cost of `checks` checks since then.
    [[nodiscard]] measurement read(std::uint64_t checks) const;

  private:
    std::vector<std::string> sockets_;
    double server_s_ = 0;
    double client_s_;
    std::uint64_t allocations_;
    std::chrono::steady_clock::time_point begin_;
};

} // namespace colimit::benchmark

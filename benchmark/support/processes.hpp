// SPDX-License-Identifier: BSL-1.0
//
// Several processes that call at the same time, each with its own limiter.

#pragma once

#include <support/scenario.hpp>

#include <cstdint>
#include <functional>

namespace colimit::benchmark {

/// What a process has done in the measured time.
struct process_counts {
    std::uint64_t checks = 0;
    std::uint64_t allowed = 0;
    std::uint64_t leased = 0; ///< decided by leases
};

/// Runs in a process of its own. It calls `begin` when it is ready, which returns when all are, and
/// returns what it has done since then.
using process_work =
    std::function<process_counts(unsigned process, const std::function<void()>& begin)>;

/// Processor time of the client is that of all processes.
/// @throws std::runtime_error if one of them fails
[[nodiscard]] measurement run_in_processes(unsigned count, const process_work& work,
                                           const conditions& c);

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// Processes with leases that are halted and killed while they hold some, on a server and a network
// with faults, and what the checker finds.

#pragma once

#include "leased_limits.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

struct lease_order {
    std::int64_t checks = 100'000;
    int processes = 4;
    bool faults = false;
    std::string server; ///< empty: a private one
    std::uint64_t seed = 1;
    std::optional<lease_flaw> flaw; ///< a client written by hand, without this rule
};

/// Prints what it did and found. Returns whether all is well.
[[nodiscard]] bool run_with_leases(const lease_order& order);

} // namespace colimit::oracle

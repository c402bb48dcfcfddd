// SPDX-License-Identifier: BSL-1.0
//
// Processes with slots that are halted and killed while they have some, on a server and a network
// with faults, and what the checker finds.

#pragma once

#include "slot_checker.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

struct slot_order {
    std::int64_t checks = 100'000; ///< calls of acquire that the store decides
    int processes = 4;
    bool faults = false;
    std::string server; ///< empty: a private one
    std::uint64_t seed = 1;
    std::optional<slot_flaw> flaw; ///< a client written by hand, without this rule
};

/// Prints what it did and found. Returns whether all is well.
[[nodiscard]] bool run_with_slots(const slot_order& order);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// Many runs, in several processes.

#pragma once

#include "run.hpp"

#include <cstdint>

namespace colimit::simulation {

struct campaign {
    std::uint64_t seeds = 1'000;
    int jobs = 1;
    run_settings run; ///< with the first seed
};

/// Prints each seed for which a property does not hold, and a line with sums at the end. Returns
/// whether all properties hold.
[[nodiscard]] bool run_all(const campaign& order);

/// Returns a digest of everything that happens in the runs.
[[nodiscard]] std::uint64_t hash_of(const campaign& order);

} // namespace colimit::simulation

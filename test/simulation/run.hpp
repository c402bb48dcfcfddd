// SPDX-License-Identifier: BSL-1.0
//
// One run: everything that a seed decides.

#pragma once

#include "machine.hpp"

#include <cstdint>
#include <string>

namespace colimit::simulation {

struct run_settings {
    std::uint64_t seed = 1;
    simulation::flaw flaw = flaw::none;
    bool prints_trace = false;
};

struct run_result {
    std::string problem{}; ///< empty: every property holds
    std::uint64_t trace_hash = 0;
    std::uint64_t calls = 0;
    std::uint64_t accounts = 0; ///< histories of states: one more for each loss of one
    std::int64_t time = 0;      ///< virtual, in microseconds
};

[[nodiscard]] run_result run(const run_settings& settings);

} // namespace colimit::simulation

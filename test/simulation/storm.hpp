// SPDX-License-Identifier: BSL-1.0
//
// A thousand clients lose their server at once: how many of them come back in the same tenth of a
// second?

#pragma once

#include "run.hpp"

#include <cstddef>
#include <cstdint>

namespace colimit::simulation {

struct storm_result {
    std::size_t clients = 0;
    std::size_t attempts = 0;   ///< the most in any 100 ms while the server was away
    std::size_t reconnects = 0; ///< and when it was back
    std::size_t returned = 0;   ///< clients that were connected at the end
    std::int64_t last = 0;      ///< when the last one was, in microseconds after the server
};

/// @param away for how long the server is, in microseconds
/// @param delay_max `config::advanced.reconnect_delay_max`, in microseconds
[[nodiscard]] storm_result run_storm(std::uint64_t seed, simulation::flaw flaw, std::int64_t away,
                                     std::int64_t delay_max);

} // namespace colimit::simulation

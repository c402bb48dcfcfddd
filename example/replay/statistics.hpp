// SPDX-License-Identifier: BSL-1.0
//
// Whom a limit would have hit, how often and when: the history and its verdicts, counted.

#ifndef COLIMIT_EXAMPLE_REPLAY_STATISTICS_HPP
#define COLIMIT_EXAMPLE_REPLAY_STATISTICS_HPP

#include "replay/history.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace replay {

/// For each request, in their order, the place of the rule that refused it; or this.
using verdict = std::int8_t;
inline constexpr verdict allowed = -1;

struct client_statistics {
    std::uint32_t client = 0;
    std::size_t requests = 0;
    std::size_t limited = 0;
    std::chrono::sys_seconds first_limited;
    std::chrono::sys_seconds last_limited;
};

struct statistics {
    std::size_t requests = 0;
    std::size_t limited = 0;
    std::vector<std::size_t> limited_by_rule;
    std::size_t clients = 0;
    /// The most limited first; of equals the one that was limited first.
    std::vector<client_statistics> clients_limited;
};

[[nodiscard]] statistics count(const history& log, const std::vector<verdict>& verdicts,
                               std::size_t rules);

} // namespace replay

#endif

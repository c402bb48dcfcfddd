// SPDX-License-Identifier: BSL-1.0
//
// Which clients a limit would have denied, how often and when: the history and its decisions,
// counted.

#pragma once

#include <tool/replay/history.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool::replay {

/// Per request, in order, the index in `limits::rules` of the rule that denied it; or `allowed`.
using verdict = std::int16_t;
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
    std::size_t unlimited = 0; ///< requests that no route limits, or one without policies
    std::vector<std::size_t> limited_by_rule;
    std::size_t clients = 0;
    /// Sorted by denials, most first; of equals the one that was denied first.
    std::vector<client_statistics> clients_limited;
};

[[nodiscard]] statistics count(const history& log, const std::vector<verdict>& verdicts,
                               std::size_t rules);

} // namespace tool::replay

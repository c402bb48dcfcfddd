// SPDX-License-Identifier: BSL-1.0
//
// Requests and denials over time, in round steps (10 s, 15 min, 1 h), for the charts.

#pragma once

#include <tool/replay/history.hpp>
#include <tool/replay/statistics.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tool::replay {

struct timeline {
    std::chrono::sys_seconds start; ///< a multiple of `step`
    std::chrono::seconds step;
    std::vector<std::size_t> requests; ///< in each step
    std::vector<std::size_t> limited;  ///< of these

    [[nodiscard]] std::chrono::sys_seconds end() const {
        return start + step * static_cast<std::int64_t>(requests.size());
    }
};

/// A labelled position on the time axis.
struct tick {
    std::chrono::sys_seconds time;
    std::string label;
};

/// Returns the finest timeline of at most `most` steps. The requests are sorted and not empty.
[[nodiscard]] timeline make_timeline(const std::vector<request>& requests,
                                     const std::vector<verdict>& verdicts, std::size_t most);

/// Returns round times, at most `most`, with labels as short as possible.
[[nodiscard]] std::vector<tick> ticks(const timeline& line, std::size_t most);

} // namespace tool::replay

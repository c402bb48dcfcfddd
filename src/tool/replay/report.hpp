// SPDX-License-Identifier: BSL-1.0
//
// The result of the replay, as text for a terminal. Nothing in it depends on the store, except the
// line that names it.

#pragma once

#include <tool/replay/history.hpp>
#include <tool/replay/statistics.hpp>
#include <tool/replay/timeline.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tool::replay {

/// The data of a replay, ready for output.
struct subject {
    std::string log;
    std::vector<std::string> rules;
    std::string store;

    [[nodiscard]] std::string joined_rules() const;
};

struct layout {
    std::size_t width = 80;
    std::size_t top = 10; ///< clients to list
    bool unicode = true;
};

[[nodiscard]] std::string report(const subject& what, const history& log, const statistics& found,
                                 const timeline& line, const layout& form);

} // namespace tool::replay

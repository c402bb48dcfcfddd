// SPDX-License-Identifier: BSL-1.0
//
// Four kinds of traffic in which algorithms differ, in proportion to a limit. Nothing is random.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/rule.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tool::simulate {

/// The largest limit for which traffic is made.
inline constexpr std::int64_t largest_limit = 10'000;

/// Requests of one client, in the order of time.
struct traffic {
    std::string name;
    std::string description;
    std::vector<std::chrono::microseconds> requests; ///< since the start
};

/// The traffic of a limit, three of its periods long.
struct scenarios {
    std::int64_t limit = 0;
    std::chrono::microseconds period{};
    colimit::time_point start; ///< where a window starts that is as long as the period
    std::array<traffic, 4> all;

    [[nodiscard]] std::chrono::microseconds length() const noexcept { return 3 * period; }
};

/// Returns the traffic for the limit and the period of a rule.
/// @throws std::runtime_error if the limit is above `largest_limit`, or the period longer than a
/// year or shorter than a millisecond
[[nodiscard]] scenarios make_scenarios(const colimit::rule& r);

} // namespace tool::simulate

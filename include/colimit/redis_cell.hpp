// SPDX-License-Identifier: BSL-1.0
//
// Decisions in the form of redis-cell's CL.THROTTLE, for services that use that already.

#pragma once

#include <colimit/decision.hpp>

#include <cstdint>

namespace colimit {

/// The five integers of CL.THROTTLE, in its order. Seconds are rounded up from the exact time, so a
/// retry after them is not too early.
struct cell_reply {
    std::int64_t limited = 0; ///< 1 if denied
    std::int64_t limit = 0;   ///< the capacity: max_burst + 1
    std::int64_t remaining = 0;
    std::int64_t retry_after = -1; ///< seconds; -1 if allowed, and if it never will be
    std::int64_t reset_after = 0;  ///< seconds

    friend constexpr bool operator==(const cell_reply&, const cell_reply&) = default;
};

/// Returns the numbers of the limiting rule.
[[nodiscard]] cell_reply to_cell_reply(const decision& d) noexcept;

} // namespace colimit

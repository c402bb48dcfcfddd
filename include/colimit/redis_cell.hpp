// SPDX-License-Identifier: BSL-1.0
//
// A decision as redis-cell's CL.THROTTLE answers it, for services that speak that already.

#ifndef COLIMIT_REDIS_CELL_HPP
#define COLIMIT_REDIS_CELL_HPP

#include <colimit/decision.hpp>

#include <cstdint>

namespace colimit {

/// The five integers of CL.THROTTLE, in its order. Seconds are rounded up, from the exact time: who
/// comes back then is not too early.
struct cell_reply {
    std::int64_t limited = 0; ///< 1 when refused
    std::int64_t limit = 0;   ///< the capacity: max_burst + 1
    std::int64_t remaining = 0;
    std::int64_t retry_after = -1; ///< seconds; -1 when allowed, and when it never will be
    std::int64_t reset_after = 0;  ///< seconds

    friend constexpr bool operator==(const cell_reply&, const cell_reply&) = default;
};

/// The numbers of the binding rule.
[[nodiscard]] cell_reply to_cell_reply(const decision& d) noexcept;

} // namespace colimit

#endif

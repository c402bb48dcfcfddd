// SPDX-License-Identifier: BSL-1.0
//
// Decisions in the form of redis-cell.

#include <colimit/redis_cell.hpp>

namespace colimit {

cell_reply to_cell_reply(const decision& d) noexcept {
    const auto seconds = [](std::chrono::microseconds time) {
        return std::int64_t{std::chrono::ceil<std::chrono::seconds>(time).count()};
    };
    const auto has_wait = d.outcome == outcome::denied;
    return {.limited = d.allowed() ? 0 : 1,
            .limit = d.limit,
            .remaining = d.remaining,
            .retry_after = has_wait ? seconds(d.retry_after) : -1,
            .reset_after = seconds(d.reset_after)};
}

} // namespace colimit

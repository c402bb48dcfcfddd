// SPDX-License-Identifier: BSL-1.0
//
// Names of what a decision says, and decisions in the form of redis-cell.

#include <base/enumerator.hpp>
#include <colimit/decision.hpp>
#include <colimit/redis_cell.hpp>

namespace colimit {

std::string_view to_string(outcome o) noexcept {
    return name_of(o, {"allowed", "denied", "never"});
}

std::string_view to_string(decision_source s) noexcept {
    return name_of(s, {"store", "deny_cache", "lease", "fallback", "fail_open", "fail_closed"});
}

std::string_view to_string(denial_reason r) noexcept {
    return name_of(r, {"rule", "duplicate", "block"});
}

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

// SPDX-License-Identifier: BSL-1.0
//
// Names of what a decision says.

#include <base/enumerator.hpp>
#include <colimit/decision.hpp>

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

} // namespace colimit

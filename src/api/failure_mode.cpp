// SPDX-License-Identifier: BSL-1.0
//
// The names of the failure modes, as in JSON documents of policies.

#include <colimit/failure_mode.hpp>

namespace colimit {

std::string_view to_string(failure_mode m) noexcept {
    switch (m) {
    case failure_mode::local:
        return "local";
    case failure_mode::allow:
        return "allow";
    case failure_mode::deny:
        return "deny";
    case failure_mode::error:
        break;
    }
    return "error";
}

} // namespace colimit

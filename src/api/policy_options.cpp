// SPDX-License-Identifier: BSL-1.0
//
// The names of failure modes and storage layouts, as in JSON documents of policies.

#include <base/enumerator.hpp>
#include <colimit/storage.hpp>

namespace colimit {

std::string_view to_string(failure_mode m) noexcept {
    return name_of(m, {"local", "allow", "deny", "error"});
}

std::string_view to_string(storage s) noexcept {
    return name_of(s, {"per_key", "shared_hash"});
}

} // namespace colimit

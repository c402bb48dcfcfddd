// SPDX-License-Identifier: BSL-1.0
//
// The names of the storage layouts, as in JSON documents of policies.

#include <colimit/storage.hpp>

namespace colimit {

std::string_view to_string(storage s) noexcept {
    return s == storage::shared_hash ? "shared_hash" : "per_key";
}

} // namespace colimit

// SPDX-License-Identifier: BSL-1.0
//
// The names of the ways to store, as documents of policies write them.

#include <colimit/storage.hpp>

namespace colimit {

std::string_view to_string(storage s) noexcept {
    return s == storage::shared_hash ? "shared_hash" : "per_key";
}

} // namespace colimit

// SPDX-License-Identifier: BSL-1.0
//
// An id as Bloom filters know it: the same in every process, on every store.

#ifndef COLIMIT_CORE_ID_DIGEST_HPP
#define COLIMIT_CORE_ID_DIGEST_HPP

#include <core/bloom.hpp>
#include <hash/sha256.hpp>

#include <cstring>
#include <string_view>

namespace colimit::detail {

[[nodiscard]] inline core::id_digest id_digest_of(std::string_view id) noexcept {
    const auto bytes = hash::sha256(id);
    auto digest = core::id_digest{};
    static_assert(sizeof digest == sizeof bytes);
    std::memcpy(&digest, bytes.data(), sizeof digest); // base/bytes.hpp insists on little-endian
    return digest;
}

} // namespace colimit::detail

#endif

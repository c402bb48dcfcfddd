// SPDX-License-Identifier: BSL-1.0
//
// FNV-1a (Fowler, Noll and Vo): a short hash without a secret, the same in every process. It is for
// names that must be the same in every process; collisions are easy to construct.

#pragma once

#include <cstdint>
#include <string_view>

namespace colimit::hash {

inline constexpr std::uint32_t fnv1a_begin_32 = 2166136261U;

/// Returns a hash of 32 bits with a byte added.
[[nodiscard]] constexpr std::uint32_t fnv1a_32(std::uint32_t hash, unsigned char byte) noexcept {
    return (hash ^ byte) * std::uint32_t{16777619U};
}

[[nodiscard]] constexpr std::uint64_t fnv1a_64(std::string_view text) noexcept {
    auto hash = std::uint64_t{14695981039346656037U};
    for (const auto c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{1099511628211U};
    return hash;
}

} // namespace colimit::hash

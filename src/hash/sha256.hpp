// SPDX-License-Identifier: BSL-1.0
//
// SHA-256, truncated to 128 bits: finding two long keys with the same digest is infeasible.

#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

namespace colimit::hash {

[[nodiscard]] std::array<unsigned char, 16> sha256(std::string_view bytes) noexcept;
/// Returns the digest of the parts, one after another.
[[nodiscard]] std::array<unsigned char, 16>
sha256(std::initializer_list<std::string_view> parts) noexcept;

/// Returns the digest in hexadecimal, which replaces a long key.
[[nodiscard]] std::array<char, 32> sha256_hex(std::string_view bytes) noexcept;

} // namespace colimit::hash

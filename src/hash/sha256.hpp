// SPDX-License-Identifier: BSL-1.0
//
// 128 bits for bytes of any length: SHA-256, cut. Nobody finds two long keys with one digest, nor
// an id that stands for others without looking for it for long.

#ifndef COLIMIT_HASH_SHA256_HPP
#define COLIMIT_HASH_SHA256_HPP

#include <array>
#include <string_view>

namespace colimit::hash {

[[nodiscard]] std::array<unsigned char, 16> sha256(std::string_view bytes) noexcept;

/// The same in hexadecimal: what stands for a long key.
[[nodiscard]] std::array<char, 32> sha256_hex(std::string_view bytes) noexcept;

} // namespace colimit::hash

#endif

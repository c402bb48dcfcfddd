// SPDX-License-Identifier: BSL-1.0
//
// 128 bits for bytes of any length: SHA-256, cut. Nobody finds two long keys with one digest, nor
// an id that stands for others without looking for it for long.

#ifndef COLIMIT_SHA256_HPP
#define COLIMIT_SHA256_HPP

#include <array>
#include <string_view>

namespace colimit {

[[nodiscard]] std::array<unsigned char, 16> digest_of(std::string_view bytes) noexcept;

} // namespace colimit

#endif

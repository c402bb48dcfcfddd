// SPDX-License-Identifier: BSL-1.0
//
// The hash slot of a key in a cluster: CRC-16/XMODEM of the tag between its braces, or of the whole
// key if it has none, modulo 16,384.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::redis {

/// The slots of a cluster are numbered 0 to 16,383.
inline constexpr std::size_t hash_slot_count = 16'384;

/// The remainders of CRC-16/XMODEM (polynomial 0x1021) for each value of the first byte.
inline constexpr std::array<std::uint16_t, 256> crc16_remainders = [] {
    auto remainders = std::array<std::uint16_t, 256>{};
    for (std::uint32_t i = 0; i < remainders.size(); ++i) {
        auto crc = i << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
        remainders[i] = static_cast<std::uint16_t>(crc & 0xffffU);
    }
    return remainders;
}();

/// Returns CRC-16/XMODEM of the bytes, beginning with 0.
[[nodiscard]] constexpr std::uint16_t crc16(std::string_view bytes) noexcept {
    auto crc = std::uint32_t{0};
    for (const auto byte : bytes)
        crc = ((crc << 8U) & 0xffffU) ^
              crc16_remainders[(crc >> 8U) ^ static_cast<unsigned char>(byte)];
    return static_cast<std::uint16_t>(crc);
}

/// Returns the part of a key that a cluster hashes: the text between the first `{` and the first
/// `}` after it; the whole key if there are no such braces, or nothing between them.
[[nodiscard]] constexpr std::string_view hashed_part(std::string_view key) noexcept {
    const auto open = key.find('{');
    if (open == std::string_view::npos)
        return key;
    const auto close = key.find('}', open + 1);
    if (close == std::string_view::npos || close == open + 1)
        return key;
    return key.substr(open + 1, close - open - 1);
}

/// Returns the hash slot of a key.
[[nodiscard]] constexpr std::uint16_t hash_slot(std::string_view key) noexcept {
    return static_cast<std::uint16_t>(crc16(hashed_part(key)) % hash_slot_count);
}

} // namespace colimit::redis

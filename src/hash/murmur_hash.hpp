// SPDX-License-Identifier: BSL-1.0
//
// MurmurHash64A (Austin Appleby, 2008, public domain), which Redis uses for HyperLogLogs: a sketch
// in process has the same counts as on the server only with the same hash.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::hash {

[[nodiscard]] inline std::uint64_t murmur_hash(std::string_view bytes,
                                               std::uint64_t seed) noexcept {
    constexpr auto factor = std::uint64_t{0xc6a4a7935bd1e995};
    constexpr auto shift = 47U;
    constexpr auto word_bytes = sizeof(std::uint64_t);
    // Reads little-endian numbers on any machine.
    const auto number = [&](std::size_t from, std::size_t count) {
        auto word = std::uint64_t{0};
        for (std::size_t i = 0; i < count; ++i)
            word |= std::uint64_t{static_cast<unsigned char>(bytes[from + i])} << (8 * i);
        return word;
    };
    auto hash = seed ^ (bytes.size() * factor);
    const auto tail = bytes.size() % word_bytes;
    for (std::size_t at = 0; at + tail < bytes.size(); at += word_bytes) {
        auto word = number(at, word_bytes) * factor;
        word = (word ^ (word >> shift)) * factor;
        hash = (hash ^ word) * factor;
    }
    if (tail != 0)
        hash = (hash ^ number(bytes.size() - tail, tail)) * factor;
    hash = (hash ^ (hash >> shift)) * factor;
    return hash ^ (hash >> shift);
}

} // namespace colimit::hash

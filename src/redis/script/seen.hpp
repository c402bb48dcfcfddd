// SPDX-License-Identifier: BSL-1.0
//
// The encoding of Bloom filters and ids for the script `seen`, and the names of a filter's blocks:
// with the number of the block instead of a policy's key,
//
//   prefix:{tag}:filter:b01a2b3c4dk:17   the bitmap of an even generation (b1 of an odd one)
//
// where 1a2b3c4d is a digest of the filter's numbers: with other numbers, an id has other bits.

#ifndef COLIMIT_REDIS_SCRIPT_SEEN_HPP
#define COLIMIT_REDIS_SCRIPT_SEEN_HPP

#include <core/bloom.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Returns the family of the bitmaps of even (0) or odd (1) generations.
[[nodiscard]] std::array<char, 10> bitmap_family(const core::bloom_shape& shape,
                                                 std::size_t parity) noexcept;

/// Appends the position of an id's line and the id's bits in it.
void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_bits& mark);

/// Appends the call with the number of its block.
void append_id(std::string& out, std::uint16_t block, std::string_view mark);

/// Reads and removes an id's result: '1' for seen, or '0'. Returns false if it is neither.
[[nodiscard]] bool take_seen(std::string_view& answers, bool& seen) noexcept;

} // namespace colimit::redis

#endif

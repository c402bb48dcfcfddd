// SPDX-License-Identifier: BSL-1.0
//
// What the script `seen` reads of a Bloom filter and its ids, and how the blocks of a filter are
// called: with the number of the block in the place of a policy's key,
//
//   prefix:{tag}:filter:b01a2b3c4dk:17   the bitmap of an even generation (b1 of an odd one)
//
// where 1a2b3c4d stands for the filter's numbers: with other numbers, other bits mean an id.

#ifndef COLIMIT_REDIS_SCRIPT_SEEN_HPP
#define COLIMIT_REDIS_SCRIPT_SEEN_HPP

#include <core/bloom.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// The family of the bitmaps of even (0) or odd (1) generations.
[[nodiscard]] std::array<char, 10> bitmap_family(const core::bloom_shape& shape,
                                                 std::size_t parity) noexcept;

/// Appends where an id's line is and which of its bits are the id's.
void append_mark(std::string& out, const core::bloom_shape& shape, const core::bloom_mark& mark);

/// Appends the call behind the number of its block.
void append_id(std::string& out, std::uint16_t block, std::string_view mark);

/// An id's answer: '1', it has been here, or '0'. Takes it off; false when it is neither.
[[nodiscard]] bool take_seen(std::string_view& answers, bool& seen) noexcept;

} // namespace colimit::redis

#endif

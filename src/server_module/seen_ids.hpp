// SPDX-License-Identifier: BSL-1.0
//
// The ids of a COLIMIT.SEEN: ARGV[5] of the script, see lua/seen/policy.lua. All are read, and
// refused if one is not valid, before the first is looked up.

#pragma once

#include <core/bloom.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace colimit::server_module {

enum class id_use : std::uint8_t {
    record, ///< looked up, and recorded if it is new
    look_up,
    count, ///< not an id: the bits of a part of the block are counted
};

struct listed_id {
    std::size_t block;
    id_use use;
    std::size_t first;      ///< byte of its line
    std::size_t size;       ///< of the line, or the part
    std::string_view words; ///< its bits in the line
};

/// @throws refusal
[[nodiscard]] std::vector<listed_id> read_ids(std::string_view bytes,
                                              const core::bloom_shape& shape, std::size_t blocks);

} // namespace colimit::server_module

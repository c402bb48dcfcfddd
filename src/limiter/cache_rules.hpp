// SPDX-License-Identifier: BSL-1.0
//
// What the deny cache and the table of leases have in common.

#pragma once

#include <cstddef>
#include <cstdint>

namespace colimit::detail {

/// The entries of a set: the tags of so many are one line of the processor's cache.
inline constexpr std::size_t most_ways = 8;

/// Returns the part of a time of the store that has certainly not passed there while this process's
/// clock has counted so much: the two clocks differ by less than the rest.
[[nodiscard]] constexpr std::int64_t surely(std::int64_t time) noexcept {
    return time - time / 1000 - 1;
}

} // namespace colimit::detail

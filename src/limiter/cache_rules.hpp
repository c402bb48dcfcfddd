// SPDX-License-Identifier: BSL-1.0
//
// The rule about clocks that cached denials and leases share.

#pragma once

#include <cstdint>

namespace colimit::detail {

/// Returns the part of a time of the store that has certainly not passed there while this process's
/// clock has counted so much: the two clocks differ by less than the rest.
[[nodiscard]] constexpr std::int64_t minus_clock_tolerance(std::int64_t time) noexcept {
    return time - time / 1000 - 1;
}

} // namespace colimit::detail

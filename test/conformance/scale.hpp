// SPDX-License-Identifier: BSL-1.0
//
// From the nanoseconds of a case to the microseconds of a store. Cases finer than a microsecond
// are stretched: a nanosecond becomes a second, or, where a hundred years would not be enough for
// that, a microsecond. Time 0 of a case lies at a multiple of all its periods.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace colimit::conformance {

struct scale {
    std::int64_t factor = 1; ///< microseconds for each `divisor` nanoseconds
    std::int64_t divisor = 1;
    std::int64_t zero = 0; ///< where time 0 of the case is, in microseconds since 1970

    /// A length that is exact here.
    [[nodiscard]] std::int64_t length(std::int64_t ns) const noexcept {
        return ns / divisor * factor;
    }
    [[nodiscard]] std::int64_t time(std::int64_t ns) const noexcept { return zero + length(ns); }
    /// An expected length, rounded up.
    [[nodiscard]] std::int64_t rounded_up(std::int64_t ns) const noexcept;
    [[nodiscard]] std::int64_t rounded_up(double ns) const noexcept;
};

/// The scales on which all of a case's times fit, the best one first. None: there is none.
[[nodiscard]] std::vector<scale> scales_for(std::span<const std::int64_t> times,
                                            std::span<const std::int64_t> periods);

} // namespace colimit::conformance

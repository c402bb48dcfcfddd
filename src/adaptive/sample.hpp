// SPDX-License-Identifier: BSL-1.0
//
// What the algorithms of an adaptive limit know about a call that has ended.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colimit::adaptive {

using std::chrono::nanoseconds;

/// A longer latency counts as this.
inline constexpr nanoseconds max_latency = std::chrono::hours{1};

/// Times further from the clock's epoch count as this (73 years), so that differences of two times,
/// and sums with a window, are far from an overflow.
inline constexpr nanoseconds max_time{std::int64_t{1} << 61};

struct sample {
    nanoseconds end{};          ///< of the steady clock; within `max_time` of its epoch
    nanoseconds latency{};      ///< 0 to `max_latency`
    std::int64_t in_flight = 0; ///< calls when it was admitted, itself included
    bool has_failed = false;
};

/// Returns the sample of a call from any two times.
[[nodiscard]] inline sample make_sample(nanoseconds start, nanoseconds end, std::int64_t in_flight,
                                        bool has_failed) noexcept {
    const auto first = std::clamp(start, -max_time, max_time);
    const auto last = std::clamp(end, -max_time, max_time);
    return {.end = last,
            .latency = std::clamp(last - first, nanoseconds{0}, max_latency),
            .in_flight = in_flight,
            .has_failed = has_failed};
}

/// Adds a latency to a sum, which stops at its largest value.
inline void add_to(nanoseconds& sum, nanoseconds latency) noexcept {
    sum += std::min(latency, nanoseconds::max() - sum);
}

} // namespace colimit::adaptive

// SPDX-License-Identifier: BSL-1.0
//
// Integer arithmetic with documented rounding. No intermediate result is above 2^53.

#pragma once

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

/// Returns a / b, rounded up; for a >= 0 and b >= 1. The sum a + b - 1 could be above 2^53.
/// The test for 1 saves most divisions of a call, as one token per unit is common.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
    BOOST_ASSERT(a >= 0 && b >= 1);
    return a == 0 ? 0 : b == 1 ? a : (a - 1) / b + 1;
}

/// Returns a / b, rounded towards minus infinity; for b >= 1.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    BOOST_ASSERT(b >= 1);
    return a >= 0 ? (b == 1 ? a : a / b) : -ceil_div(-a, b);
}

[[nodiscard]] constexpr std::int64_t in_units(std::int64_t us, std::int64_t unit) noexcept {
    return unit == 1 ? us : us / unit;
}

/// Returns part * to / from, rounded up, for 0 <= part < from <= 2^52 and to <= 2^52. The result is
/// too large by at most 2^-25 of `to`: the fraction is rounded up to a divisor of 26 bits.
[[nodiscard]] constexpr std::int64_t ceil_share(std::int64_t part, std::int64_t from,
                                                std::int64_t to) noexcept {
    BOOST_ASSERT(part >= 0 && part < from && from <= std::int64_t{1} << 52 &&
                 to <= std::int64_t{1} << 52);
    constexpr auto widest = std::int64_t{1} << 26;
    if (from > widest) {
        const auto step = ceil_div(from, widest);
        from /= step;
        part = std::min(ceil_div(part, step), from);
    }
    return part * (to / from) + ceil_div(part * (to % from), from);
}

/// Returns a * b, but at most `most`; for b >= 1.
[[nodiscard]] constexpr std::int64_t product_up_to(std::int64_t most, std::int64_t a,
                                                   std::int64_t b) noexcept {
    BOOST_ASSERT(b >= 1);
    return a > most / b ? most : a * b;
}

/// Returns the sum of `debt` and `amount` times `each`, but at most `most`. A larger debt stays.
[[nodiscard]] constexpr std::int64_t sum_up_to(std::int64_t most, std::int64_t debt,
                                               std::int64_t amount, std::int64_t each) noexcept {
    BOOST_ASSERT(each >= 1);
    return debt >= most ? debt : amount > (most - debt) / each ? most : debt + amount * each;
}

/// Returns the microseconds from `now` to `units` after it; `now` counts as rounded down to a unit.
[[nodiscard]] constexpr std::int64_t wait_of(std::int64_t units, std::int64_t unit,
                                             std::int64_t now) noexcept {
    BOOST_ASSERT(units >= 0 && unit >= 1);
    return units == 0 ? 0 : unit == 1 ? units : unit * (now / unit + units) - now;
}

} // namespace colimit::core

// SPDX-License-Identifier: BSL-1.0
//
// Divisions that are exact and round where it is said. Nothing here passes 2^53 on its way.

#ifndef COLIMIT_CORE_INTEGERS_HPP
#define COLIMIT_CORE_INTEGERS_HPP

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

/// Both arguments not negative; b at least 1. Without the sum a + b - 1, which could pass 2^53.
/// One token a unit is common enough to save a call most of its divisions.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
    BOOST_ASSERT(a >= 0 && b >= 1);
    return a == 0 ? 0 : b == 1 ? a : (a - 1) / b + 1;
}

/// Rounded towards minus infinity; b at least 1.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    BOOST_ASSERT(b >= 1);
    return a >= 0 ? (b == 1 ? a : a / b) : -ceil_div(-a, b);
}

[[nodiscard]] constexpr std::int64_t in_units(std::int64_t us, std::int64_t unit) noexcept {
    return unit == 1 ? us : us / unit;
}

/// part * to / from, rounded up; above by at most 2^-25 of `to`. With `part` below `from` and both
/// `from` and `to` at most 2^52: the fraction is rounded up to one whose divisor has 26 bits.
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

/// a * b, and no more than `most`; b is at least 1.
[[nodiscard]] constexpr std::int64_t product_up_to(std::int64_t most, std::int64_t a,
                                                   std::int64_t b) noexcept {
    BOOST_ASSERT(b >= 1);
    return a > most / b ? most : a * b;
}

/// From units to microseconds: exact in the unit, from `now` rounded down to it.
[[nodiscard]] constexpr std::int64_t wait_of(std::int64_t units, std::int64_t unit,
                                             std::int64_t now) noexcept {
    return units == 0 ? 0 : unit == 1 ? units : unit * (now / unit + units) - now;
}

} // namespace colimit::core

#endif

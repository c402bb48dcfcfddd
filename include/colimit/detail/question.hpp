// SPDX-License-Identifier: BSL-1.0
//
// What a verb asks of a key, as plain numbers.

#ifndef COLIMIT_DETAIL_QUESTION_HPP
#define COLIMIT_DETAIL_QUESTION_HPP

#include <colimit/options.hpp>

#include <cstdint>

namespace colimit::detail {

/// The order is known to lua/bucket.lua.
enum class verb : std::uint8_t { allow, peek, charge, refund, reset };

/// The store's own clock decides.
inline constexpr std::int64_t store_clock = -1;

struct question {
    detail::verb verb = verb::allow;
    std::int64_t cost = 1;
    std::int64_t at_least = 1; ///< equal to cost for all or nothing
    std::int64_t now = store_clock;
};

/// A supplied time in microseconds. One before 1970 becomes -2, so that it is refused and not taken
/// for "none".
[[nodiscard]] constexpr std::int64_t clock_of(const std::optional<time_point>& now) noexcept {
    if (!now)
        return store_clock;
    const auto us = now->time_since_epoch().count();
    return us < 0 ? -2 : us;
}

[[nodiscard]] constexpr question ask(verb v, const check_options& o) noexcept {
    return {v, o.cost, o.at_least.value_or(o.cost), clock_of(o.now)};
}

[[nodiscard]] constexpr question ask(verb v, const charge_options& o) noexcept {
    return {v, o.cost, o.cost, clock_of(o.now)};
}

[[nodiscard]] constexpr question ask(verb v, const reset_options& o) noexcept {
    return {v, 0, 0, clock_of(o.now)};
}

/// Whether the numbers are in the ranges that `options.hpp` states.
[[nodiscard]] constexpr bool is_valid(const question& q) noexcept {
    return q.cost >= 0 && q.cost <= limits::exact_integer && q.at_least >= 0 &&
           q.at_least <= q.cost && q.now >= store_clock && q.now <= limits::latest_time;
}

} // namespace colimit::detail

#endif

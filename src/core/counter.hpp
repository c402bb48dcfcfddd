// SPDX-License-Identifier: BSL-1.0
//
// The sliding window counter: two aligned windows, the previous one weighted by what is left of it.
// With e the time since the current window began and P the period, `amount` fits while
//
//     prev * (P - e) + (used + amount) * P <= limit * P
//
// compared exactly, in the rule's unit. The state: the end of the current window, its count, its
// period, and the count of the window before.

#ifndef COLIMIT_CORE_COUNTER_HPP
#define COLIMIT_CORE_COUNTER_HPP

#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct counter {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto period = l.period * l.unit;
        const auto end = (now / period + 1) * period;
        auto used = std::int64_t{0};
        auto previous = std::int64_t{0};
        if (s.num != 0 && now < s.t) {
            used = std::min(s.debt, l.most);
            previous = std::min(s.capacity, l.most);
        } else if (s.num != 0 && now - s.t < s.num) {
            previous = std::min(s.debt, l.most);
        }
        const auto counts = used != 0 || previous != 0;
        const auto moved = counts && (s.num != period || s.t > end);
        s = {.t = end, .debt = used, .num = period, .capacity = previous};
        return moved;
    }

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s,
                                           std::int64_t now) noexcept {
        return floor_div(space(l, s, now), l.period);
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto left = left_of_window(l, s, now);
        const auto above_used = l.full - s.debt - amount;
        if (s.capacity * left <= above_used * l.period)
            return 0;
        // Within this window, as the previous one fades; else in the next, as this one does.
        if (above_used >= 0)
            return wait_of(left - above_used * l.period / s.capacity, l.unit, now);
        return wait_of(left + l.period - (l.full - amount) * l.period / s.debt, l.unit, now);
    }

    static void add(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        if (s.debt < l.most)
            s.debt = cost > l.most - s.debt ? l.most : s.debt + cost;
    }

    static void take(const limit& /*l*/, rule_state& s, std::int64_t cost) noexcept {
        s.debt = std::max<std::int64_t>(0, s.debt - cost);
    }

    [[nodiscard]] static std::int64_t reset_after(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt != 0 ? s.t + l.period * l.unit - now : s.capacity != 0 ? s.t - now : 0;
    }

    [[nodiscard]] static bool is_blank(const limit& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0 && s.capacity == 0;
    }

  private:
    /// P - e. The window ends at a whole unit, so `now` rounded down leaves whole units too.
    [[nodiscard]] static std::int64_t left_of_window(const limit& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        return s.t / l.unit - in_units(now, l.unit);
    }

    /// What is left of limit * P. Each product is below 2^53, and so is the difference.
    [[nodiscard]] static std::int64_t space(const limit& l, const rule_state& s,
                                            std::int64_t now) noexcept {
        return (l.full - s.debt) * l.period - s.capacity * left_of_window(l, s, now);
    }
};

} // namespace colimit::core

#endif

// SPDX-License-Identifier: BSL-1.0
//
// The sliding window counter: two aligned windows, the previous one weighted by what is left of it.
// With e the time since the current window began and P the period, `amount` fits while
//
//     prev * (P - e) + (used + amount) * P <= limit * P
//
// compared exactly, in the rule's unit. The state: the end of the current window, its count, its
// period, and the count of the window before. What a counter of another period has left counts in
// full, and as a stepped bucket counts it, until that gives it back.

#ifndef COLIMIT_CORE_COUNTER_HPP
#define COLIMIT_CORE_COUNTER_HPP

#include <core/integers.hpp>
#include <core/state.hpp>
#include <core/stepped.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct counter {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto period = l.period * l.unit;
        if (s.num != 0 && s.num != period) [[unlikely]]
            return bring_other(l, s, now);
        const auto end = (now / period + 1) * period;
        auto used = std::int64_t{0};
        auto previous = std::int64_t{0};
        if (s.num != 0 && now < s.t) {
            used = std::min(s.debt, l.most);
            previous = std::min(s.capacity, l.most);
        } else if (s.num != 0 && now - s.t < period) {
            previous = std::min(s.debt, l.most);
        }
        const auto counts = used != 0 || previous != 0;
        const auto moved = counts && s.t > end;
        s = {.t = end, .debt = used, .num = period, .capacity = previous};
        return moved;
    }

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s,
                                           std::int64_t now) noexcept {
        return is_other(s) ? l.full - s.debt : floor_div(space(l, s, now), l.period);
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        if (is_other(s)) [[unlikely]]
            return amount <= l.full - s.debt ? 0 : s.t - now;
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
        if (is_other(s)) [[unlikely]]
            return stepped::add_to_other(l, s, cost);
        if (s.debt < l.most)
            s.debt = cost > l.most - s.debt ? l.most : s.debt + cost;
    }

    static void take(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        if (is_other(s)) [[unlikely]]
            return stepped::take(l, s, cost);
        s.debt = std::max<std::int64_t>(0, s.debt - cost);
    }

    [[nodiscard]] static std::int64_t reset_after(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        if (is_other(s)) [[unlikely]]
            return s.debt == 0 ? 0 : s.t - now;
        return s.debt != 0 ? s.t + l.period * l.unit - now : s.capacity != 0 ? s.t - now : 0;
    }

    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return is_other(s) ? stepped::matters_for(l, s, now) : reset_after(l, s, now);
    }

    [[nodiscard]] static bool is_blank(const limit& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0 && (s.capacity == 0 || (is_other(s) && s.capacity > 0));
    }

  private:
    /// Whether it is what another period has left, as a stepped bucket has it.
    [[nodiscard]] static bool is_other(const rule_state& s) noexcept { return s.num > steps_mark; }

    [[nodiscard]] static bool bring_other(const limit& l, rule_state& s,
                                          std::int64_t now) noexcept {
        if (!is_other(s)) { // all that another counter may still count
            const auto current = now < s.t;
            const auto length = s.num;
            const auto counts = current || now - s.t < length;
            const auto most = stepped::most_of_other(l);
            const auto previous = current ? std::min(s.capacity, most) : 0;
            const auto used = counts ? std::min(s.debt, most) : 0;
            s = {.t = current ? s.t : s.t + length,
                 .debt = used + std::min(previous, most - used),
                 .num = steps_mark + length,
                 .capacity = 1};
        }
        const auto moved = stepped::bring_other(l, s, now);
        if (is_blank(l, s))
            s = {.t = stepped::next_boundary(l, now), .num = l.period * l.unit};
        return moved;
    }

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

// SPDX-License-Identifier: BSL-1.0
//
// Counts that start anew with each window: aligned to multiples of a period, from the first charge,
// or of a calendar. The state is the end of its window and what was used; while that end lies ahead
// it counts in the window that the present numbers give. `distinct` counts in such windows too.

#ifndef COLIMIT_CORE_WINDOW_HPP
#define COLIMIT_CORE_WINDOW_HPP

#include <core/civil.hpp>
#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct window {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto counts = s.num != 0 && s.debt != 0 && now < s.t;
        const auto end = end_of(l, counts ? s.t : 0, now);
        const auto moved = counts && s.t != end;
        s = {.t = end, .debt = counts ? std::min(s.debt, l.most) : 0, .num = 1, .capacity = 1};
        return moved;
    }

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static bool fits(const limit& l, const rule_state& s,
                                   std::int64_t amount) noexcept {
        return amount <= l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        return fits(l, s, amount) ? 0 : s.t - now;
    }

    static void add(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        if (s.debt < l.most)
            s.debt = cost > l.most - s.debt ? l.most : s.debt + cost;
    }

    static void take(const limit& /*l*/, rule_state& s, std::int64_t cost) noexcept {
        s.debt = std::max<std::int64_t>(0, s.debt - cost);
    }

    [[nodiscard]] static std::int64_t reset_after(const limit& /*l*/, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t - now;
    }

  private:
    /// @param stored the end of a window that still counts; 0: there is none
    [[nodiscard]] static std::int64_t end_of(const limit& l, std::int64_t stored,
                                             std::int64_t now) noexcept {
        if (l.kind == kind::calendar)
            return calendar_end(l.calendar, l.offset, now);
        if (l.kind == kind::from_first)
            return stored == 0 ? now + l.period : std::min(stored, now + l.period);
        return (now / l.period + 1) * l.period;
    }
};

} // namespace colimit::core

#endif

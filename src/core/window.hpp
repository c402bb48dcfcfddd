// SPDX-License-Identifier: BSL-1.0
//
// Counts that start anew with each window: aligned to multiples of a period, from the first charge,
// or of a calendar. The state is the end of its window and what was used; while that end lies ahead
// it counts in the window that the present numbers give. What a window of another length or of
// another kind has used is read as a stepped bucket reads it. `distinct` counts in such windows
// too.

#ifndef COLIMIT_CORE_WINDOW_HPP
#define COLIMIT_CORE_WINDOW_HPP

#include <core/state.hpp>
#include <core/stepped.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct window {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto is_own = l.kind == kind::distinct || (s.num == l.num && s.capacity == 1);
        if (s.num != 0 && !is_own) [[unlikely]]
            return stepped::bring_other(l, s, now);
        const auto counts = s.num != 0 && s.debt != 0 && now < s.t;
        const auto end = end_of(l, counts ? s.t : 0, now);
        const auto moved = counts && s.t != end;
        s = {.t = end, .debt = counts ? std::min(s.debt, l.most) : 0, .num = l.num, .capacity = 1};
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

    [[nodiscard]] static std::int64_t reset_after(const limit& /*l*/, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t - now;
    }

    /// What other numbers have left is given back in steps.
    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.capacity == 1 ? reset_after(l, s, now) : stepped::matters_for(l, s, now);
    }

  private:
    /// @param stored the end of a window that still counts; 0: there is none
    [[nodiscard]] static std::int64_t end_of(const limit& l, std::int64_t stored,
                                             std::int64_t now) noexcept {
        const auto end = stepped::next_boundary(l, now);
        return l.kind == kind::from_first && stored != 0 ? std::min(stored, end) : end;
    }
};

} // namespace colimit::core

#endif

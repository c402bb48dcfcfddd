// SPDX-License-Identifier: BSL-1.0
//
// Refuses for a time, whatever is asked: after a grant (`prevent_duplicate`), after `block`, and
// after the first of `once`. The state: `debt` microseconds from `t` on.

#ifndef COLIMIT_CORE_HOLD_HPP
#define COLIMIT_CORE_HOLD_HPP

#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct hold {
    /// @param longest what counts of it at most, from when it began: a longer one was made by a
    ///                version of the policy with a longer period, for which all of it counts. What
    ///                is above is the negative capacity, see versions.hpp.
    [[nodiscard]] static bool bring_to_now(std::int64_t longest, rule_state& s,
                                           std::int64_t now) noexcept {
        if (s.num == 0) {
            start(s, 0, now);
            return false;
        }
        if (s.capacity < 0) // it is at now
            return false;
        const auto ahead = s.t > now;
        const auto passed = ahead ? 0 : now - s.t;
        const auto all = std::min(s.debt, limits::max_recovery.count());
        const auto left = all - std::min(all, passed);
        const auto counts = std::min(all, longest);
        start(s, counts - std::min(counts, passed), now);
        if (left > s.debt)
            s.capacity = s.debt - left;
        return ahead;
    }

    /// After a grant. What another version still counts goes on.
    static void restart(rule_state& s, std::int64_t length, std::int64_t now) noexcept {
        const auto left = s.capacity < 0 ? s.debt - s.capacity : s.debt;
        start(s, length, now);
        if (left > length)
            s.capacity = length - left;
    }

    static void fold(rule_state& s) noexcept {
        if (s.capacity >= 0)
            return;
        s.debt -= s.capacity;
        s.capacity = 1;
    }

    static void start(rule_state& s, std::int64_t length, std::int64_t now) noexcept {
        s = {.t = now, .debt = length, .num = 1, .capacity = 1};
    }
};

} // namespace colimit::core

#endif

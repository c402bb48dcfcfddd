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
    /// @param longest what it can be at most; a longer one was made by other numbers
    [[nodiscard]] static bool bring_to_now(std::int64_t longest, rule_state& s,
                                           std::int64_t now) noexcept {
        if (s.num == 0) {
            start(s, 0, now);
            return false;
        }
        const auto ahead = s.t > now;
        const auto left = ahead ? s.debt : s.debt - std::min(s.debt, now - s.t);
        const auto shortened = left > longest;
        start(s, std::min(left, longest), now);
        return ahead || shortened;
    }

    static void start(rule_state& s, std::int64_t length, std::int64_t now) noexcept {
        s = {.t = now, .debt = length, .num = 1, .capacity = 1};
    }
};

} // namespace colimit::core

#endif

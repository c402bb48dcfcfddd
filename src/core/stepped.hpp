// SPDX-License-Identifier: BSL-1.0
//
// A bucket whose count comes back all at once: at each period since its first use (stepwise), or
// at multiples of the period (aligned). Debt is in whole tokens, `t` is the next boundary: whatever
// period it was charged under, nothing comes back before that, and later only as the rule says now.

#ifndef COLIMIT_CORE_STEPPED_HPP
#define COLIMIT_CORE_STEPPED_HPP

#include <core/continuous.hpp>
#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct stepped {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        if (s.num == 0)
            return start(l, s, now);
        const auto continuous_before = s.num != l.num;
        const auto converted = continuous::convert(l, s);
        if (continuous_before) // its time is when it owed that much
            s.t = next_boundary(l, std::min(s.t, now));
        s.debt = std::min(s.debt, l.most);
        const auto found = s.t;
        const auto ahead = now < s.t;
        auto steps = std::int64_t{0};
        if (l.kind == kind::aligned) {
            steps = ahead ? 0 : now / l.period - ceil_div(s.t, l.period) + 1;
            s.t = next_boundary(l, now);
        } else if (ahead) {
            s.t = std::min(s.t, next_boundary(l, now));
        } else {
            steps = (now - s.t) / l.period + 1;
            s.t += steps * l.period;
        }
        const auto owed_steps = ceil_div(s.debt, l.count);
        if (l.initial != starts_full && steps - owed_steps >= ceil_div(l.full, l.count))
            return start(l, s, now);
        s.debt = steps >= owed_steps ? 0 : s.debt - steps * l.count;
        const auto moved = ahead && s.t != found;
        // Nothing is owed: the next use is a first one.
        if (s.debt == 0 && l.initial == starts_full)
            (void)start(l, s, now);
        return converted || moved;
    }

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto over = amount - room(l, s);
        return over <= 0 ? 0 : s.t + (ceil_div(over, l.count) - 1) * l.period - now;
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
        return s.debt == 0 ? 0 : s.t + (ceil_div(s.debt, l.count) - 1) * l.period - now;
    }

    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.count);
        return s.t + (ceil_div(s.debt, l.count) + fill - 1) * l.period - now;
    }

  private:
    /// After `at`; stepwise if the bucket is first used then.
    [[nodiscard]] static std::int64_t next_boundary(const limit& l, std::int64_t at) noexcept {
        return l.kind == kind::aligned ? (at / l.period + 1) * l.period : at + l.period;
    }

    [[nodiscard]] static bool start(const limit& l, rule_state& s, std::int64_t now) noexcept {
        s = {.t = next_boundary(l, now),
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.capacity};
        return l.initial != starts_full;
    }
};

} // namespace colimit::core

#endif

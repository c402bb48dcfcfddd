// SPDX-License-Identifier: BSL-1.0
//
// A bucket whose count comes back all at once: at each period since its first use (stepwise), or
// at multiples of the period (aligned). Debt is in whole tokens, `t` is the last boundary.

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
        const auto converted = continuous::convert(l, s);
        const auto ahead = s.t > now;
        if (ahead)
            s.t = now;
        s.debt = std::min(s.debt, l.most);
        const auto steps =
            l.kind == kind::aligned ? now / l.period - s.t / l.period : (now - s.t) / l.period;
        const auto owed_steps = ceil_div(s.debt, l.count);
        s.t = l.kind == kind::aligned ? now / l.period * l.period : s.t + steps * l.period;
        if (l.initial != starts_full && steps - owed_steps >= ceil_div(l.full, l.count))
            return start(l, s, now);
        s.debt = steps >= owed_steps ? 0 : s.debt - steps * l.count;
        // Nothing is owed: the next use is a first one.
        if (s.debt == 0 && l.initial == starts_full)
            (void)start(l, s, now);
        return converted || ahead;
    }

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto over = amount - room(l, s);
        return over <= 0 ? 0 : s.t + ceil_div(over, l.count) * l.period - now;
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
        return s.debt == 0 ? 0 : s.t + ceil_div(s.debt, l.count) * l.period - now;
    }

    [[nodiscard]] static bool is_blank(const limit& l, const rule_state& s) noexcept {
        return continuous::is_blank(l, s);
    }

    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.count);
        return s.t + (ceil_div(s.debt, l.count) + fill) * l.period - now;
    }

  private:
    [[nodiscard]] static bool start(const limit& l, rule_state& s, std::int64_t now) noexcept {
        s = {.t = l.kind == kind::aligned ? now / l.period * l.period : now,
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.capacity};
        return l.initial != starts_full;
    }
};

} // namespace colimit::core

#endif

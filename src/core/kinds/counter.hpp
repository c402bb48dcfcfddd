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

#ifndef COLIMIT_CORE_KINDS_COUNTER_HPP
#define COLIMIT_CORE_KINDS_COUNTER_HPP

#include <core/integers.hpp>
#include <core/kinds/steps.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

struct counter {
    static constexpr char family = 'c';
    static constexpr std::string_view description = "a sliding_window";
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = false;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = false;

    /// In the finest unit in which limit times period stays exact.
    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        const auto us = period_of(where, r);
        for (const auto unit : units) {
            const auto period = us / unit;
            if (us % unit != 0 || !product_fits(r.count(), period, limits::max_exact_integer))
                continue;
            return {.capacity = r.count(),
                    .num = steps_mark + us,
                    .unit = unit,
                    .full = r.count(),
                    .most = std::max(r.count(), most_ticks / period),
                    .period = period,
                    .count = r.count()};
        }
        refuse(where,
               "limit times period is too large to be counted exactly: choose a smaller limit, "
               "or a period of whole milliseconds or seconds");
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return 2 * l.period * l.unit;
    }

    [[nodiscard]] static bool advance(const compiled_rule& l, rule_state& s,
                                      std::int64_t now) noexcept {
        const auto period = l.period * l.unit;
        if (s.num != 0 && s.num != period) [[unlikely]]
            return advance_other(l, s, now);
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

    [[nodiscard]] static std::int64_t available(const compiled_rule& l, const rule_state& s,
                                                std::int64_t amount, std::int64_t now) noexcept {
        return available_of(amount, balance(l, s, now));
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& l, const rule_state& s,
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

    static void charge(const compiled_rule& l, rule_state& s, std::int64_t cost,
                       std::int64_t /*now*/) noexcept {
        if (is_other(s)) [[unlikely]]
            return steps::charge_other(l, s, cost);
        if (s.debt < l.most)
            s.debt = cost > l.most - s.debt ? l.most : s.debt + cost;
    }

    static void refund(const compiled_rule& l, rule_state& s, std::int64_t cost) noexcept {
        if (is_other(s)) [[unlikely]]
            return steps::refund(l, s, cost);
        s.debt = std::max<std::int64_t>(0, s.debt - cost);
    }

    static void fold(const compiled_rule& l, rule_state& s) noexcept { versions::fold(l, s); }

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t now) noexcept {
        return is_other(s) ? l.full - s.debt : floor_div(space(l, s, now), l.period);
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        if (is_other(s)) [[unlikely]]
            return s.debt == 0 ? 0 : s.t - now;
        return s.debt != 0 ? s.t + l.period * l.unit - now : s.capacity != 0 ? s.t - now : 0;
    }

    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                               std::int64_t now) noexcept {
        return is_other(s) ? steps::lifetime(l, s, now) : reset_after(l, s, now);
    }

    [[nodiscard]] static bool is_full(const compiled_rule& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0 && (s.capacity == 0 || (is_other(s) && s.capacity > 0));
    }

    /// One window is as full as any can be: the one before, if what it owes is over with this one,
    /// or else this one. What was given up may have been more than the limit, and goes on counting
    /// as it fades.
    [[nodiscard]] static rule_state owing(const compiled_rule& l, std::int64_t duration,
                                          std::int64_t now) noexcept {
        const auto end = at_multiples::next(l, now);
        const auto fades = now + duration <= end;
        return {.t = end,
                .debt = fades ? 0 : l.most,
                .num = l.period * l.unit,
                .capacity = fades ? l.most : 0};
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& l, const rule_state& a,
                                             const rule_state& b) noexcept {
        if (is_other(a) != is_other(b))
            return is_other(a) ? stricter_of_both(l, b, a) : stricter_of_both(l, a, b);
        if (!is_other(a))
            return larger(a, b);
        return versions::stricter_of_others(l, a, b, [](const rule_state&) { return false; });
    }

    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept {
        return s.t - (is_other(s) ? s.num - steps_mark : s.num);
    }

  private:
    using steps = repaid_in_steps<at_multiples, false>;

    /// Whether it is what another period has left, as a stepped bucket has it.
    [[nodiscard]] static bool is_other(const rule_state& s) noexcept { return s.num > steps_mark; }

    /// A counter in its own form, and what another version has left of one. The latter is given
    /// back at the end of the window, and so counts up to the limit of what ends there. What this
    /// window has used fades for a period after it; it then counts what the other version has left,
    /// of which what is above twice the limit is lost for that version.
    [[nodiscard]] static rule_state stricter_of_both(const compiled_rule& l, rule_state own,
                                                     rule_state other) noexcept {
        if (own.debt == 0 && own.capacity <= l.full) {
            other.debt = std::max(other.debt, own.capacity);
            return other;
        }
        own.debt = std::max(own.debt, std::min(other.debt, l.most));
        return own;
    }

    [[nodiscard]] static bool advance_other(const compiled_rule& l, rule_state& s,
                                            std::int64_t now) noexcept {
        if (!is_other(s)) { // all that another counter may still count
            const auto current = now < s.t;
            const auto length = s.num;
            const auto counts = current || now - s.t < length;
            const auto most = steps::most_of_other(l);
            const auto previous = current ? std::min(s.capacity, most) : 0;
            const auto used = counts ? std::min(s.debt, most) : 0;
            s = {.t = current ? s.t : s.t + length,
                 .debt = used + std::min(previous, most - used),
                 .num = steps_mark + length,
                 .capacity = 1};
        }
        const auto moved = steps::advance_other(l, s, now);
        if (is_full(l, s))
            s = {.t = at_multiples::next(l, now), .num = l.period * l.unit};
        return moved;
    }

    /// P - e. The window ends at a whole unit, so `now` rounded down leaves whole units too.
    [[nodiscard]] static std::int64_t left_of_window(const compiled_rule& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        return s.t / l.unit - in_units(now, l.unit);
    }

    /// What is left of limit * P. Each product is below 2^53, and so is the difference.
    [[nodiscard]] static std::int64_t space(const compiled_rule& l, const rule_state& s,
                                            std::int64_t now) noexcept {
        return (l.full - s.debt) * l.period - s.capacity * left_of_window(l, s, now);
    }
};

} // namespace colimit::core::kinds

#endif

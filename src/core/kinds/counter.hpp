// SPDX-License-Identifier: BSL-1.0
//
// The sliding window counter: two aligned windows, the previous one weighted by the part of it that
// a sliding window would still contain. With e the time since the current window began and P the
// period, `amount` fits while
//
//     prev * (P - e) + (used + amount) * P <= limit * P
//
// compared exactly, in the rule's unit. The state is the end of the current window, its count, its
// period, and the count of the previous window. The state of a counter with another period counts
// in full, and is repaid as that of a stepped bucket.

#pragma once

#include <core/kinds/steps.hpp>

namespace colimit::core::kinds {

struct counter : versioned<false> {
    static constexpr char family = 'c';
    static constexpr std::string_view description = "a sliding_window";
    static constexpr bool has_fixed_numbers = false;

    static compiled_rule compile(const std::string& where, const rule& r) {
        const auto us = period_of(where, r);
        const auto unit = exact_unit(where, us, "limit", "limit", [&](int64_t period) {
            return product_fits(r.count(), period, limits::max_exact_integer);
        });
        const auto period = us / unit;
        return {.capacity = r.count(),
                .num = steps_mark + us,
                .unit = unit,
                .debt_limit = r.count(),
                .debt_max = std::max(r.count(), max_ticks / period),
                .period = period,
                .count = r.count()};
    }

    static int64_t full_recovery(const compiled_rule& l) noexcept { return 2 * l.period * l.unit; }

    static bool advance(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        const auto period = l.period * l.unit;
        if (s.num != 0 && s.num != period) [[unlikely]]
            return advance_other(l, s, now);
        const auto end = (now / period + 1) * period;
        auto used = int64_t{0};
        auto previous = int64_t{0};
        if (s.num != 0 && now < s.t) {
            used = std::min(s.debt, l.debt_max);
            previous = std::min(s.capacity, l.debt_max);
        } else if (s.num != 0 && now - s.t < period) {
            previous = std::min(s.debt, l.debt_max);
        }
        const auto counts = used != 0 || previous != 0;
        const auto moved = counts && s.t > end;
        s = {.t = end, .debt = used, .num = period, .capacity = previous};
        return moved;
    }

    static int64_t available(const compiled_rule& l, const rule_state& s, int64_t amount,
                             int64_t now) noexcept {
        return available_of(amount, balance(l, s, now));
    }

    static int64_t wait_for(const compiled_rule& l, const rule_state& s, int64_t amount,
                            int64_t now) noexcept {
        if (is_other(s)) [[unlikely]]
            return amount <= l.debt_limit - s.debt ? 0 : s.t - now;
        const auto left = left_of_window(l, s, now);
        const auto above_used = l.debt_limit - s.debt - amount;
        if (s.capacity * left <= above_used * l.period)
            return 0;
        // In this window, as the weight of the previous one falls; else in the next window.
        if (above_used >= 0)
            return wait_of(left - above_used * l.period / s.capacity, l.unit, now);
        return wait_of(left + l.period - (l.debt_limit - amount) * l.period / s.debt, l.unit, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, int64_t cost,
                       int64_t /*now*/) noexcept {
        if (is_other(s)) [[unlikely]]
            return steps::charge_other(l, s, cost);
        s.debt = sum_up_to(l.debt_max, s.debt, cost, 1);
    }

    static void refund(const compiled_rule& l, rule_state& s, int64_t cost) noexcept {
        if (is_other(s)) [[unlikely]]
            return versioned::refund(l, s, cost);
        s.debt = std::max<int64_t>(0, s.debt - cost);
    }

    static int64_t balance(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return is_other(s) ? l.debt_limit - s.debt : floor_div(room(l, s, now), l.period);
    }

    static int64_t reset_after(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        if (is_other(s)) [[unlikely]]
            return s.debt == 0 ? 0 : s.t - now;
        return s.debt != 0 ? s.t + l.period * l.unit - now : s.capacity != 0 ? s.t - now : 0;
    }

    /// Later in the same window more would fit.
    static constexpr bool can_lease = true;
    static int64_t lease_time(const compiled_rule& l, int64_t /*reset_after*/,
                              int64_t now) noexcept {
        return at_multiples::next(l, now) - now;
    }

    static int64_t lifetime(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return is_other(s) ? steps::lifetime(l, s, now) : reset_after(l, s, now);
    }

    static bool is_full(const compiled_rule&, const rule_state& s) noexcept {
        return s.debt == 0 && (s.capacity == 0 || (is_other(s) && s.capacity > 0));
    }

    /// One window has the largest possible count: the previous one, if the debt ends with the
    /// current window, or else the current one. The real debt may have been above the limit, so a
    /// smaller count could fade too early.
    static rule_state owing(const compiled_rule& l, int64_t duration, int64_t now) noexcept {
        const auto end = at_multiples::next(l, now);
        const auto fades = now + duration <= end;
        return {.t = end,
                .debt = fades ? 0 : l.debt_max,
                .num = l.period * l.unit,
                .capacity = fades ? l.debt_max : 0};
    }

    static rule_state stricter(const compiled_rule& l, const rule_state& a,
                               const rule_state& b) noexcept {
        if (is_other(a) != is_other(b))
            return is_other(a) ? stricter_of_both(l, b, a) : stricter_of_both(l, a, b);
        if (!is_other(a))
            return larger(a, b);
        return versions::stricter_of_others(l, a, b, [](const rule_state&) { return false; });
    }

    static int64_t written_after(const rule_state& s) noexcept {
        return s.t - (is_other(s) ? s.num - steps_mark : s.num);
    }

  private:
    using steps = repaid_in_steps<at_multiples, false>;

    /// Returns whether the state is of another period, in the form of a stepped bucket.
    static bool is_other(const rule_state& s) noexcept { return s.num > steps_mark; }

    /// Returns the stricter of a counter in its own form and a state of another version. The latter
    /// is repaid at the end of the window, so it can stand for a previous window within the limit.
    /// A count of the current window fades for a period after it. Then the counter takes over the
    /// debt of the other version, for which it ends with the counter's windows, and what is above
    /// twice the limit is lost.
    static rule_state stricter_of_both(const compiled_rule& l, rule_state own,
                                       rule_state other) noexcept {
        if (own.debt == 0 && own.capacity <= l.debt_limit) {
            other.debt = std::max(other.debt, own.capacity);
            return other;
        }
        own.debt = std::max(own.debt, std::min(other.debt, l.debt_max));
        return own;
    }

    static bool advance_other(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        if (!is_other(s)) { // all that another counter may still count
            const auto is_current = now < s.t;
            const auto length = s.num;
            const auto counts = is_current || now - s.t < length;
            const auto most = steps::debt_max_of_other(l);
            const auto previous = is_current ? std::min(s.capacity, most) : 0;
            const auto used = counts ? std::min(s.debt, most) : 0;
            s = {.t = is_current ? s.t : s.t + length,
                 .debt = used + previous,
                 .num = steps_mark + length,
                 .capacity = 1};
        }
        const auto moved = steps::advance_other(l, s, now);
        if (is_full(l, s))
            s = {.t = at_multiples::next(l, now), .num = l.period * l.unit};
        return moved;
    }

    /// Returns P - e. The window ends at a whole unit, so `now` can be rounded down to one.
    static int64_t left_of_window(const compiled_rule& l, const rule_state& s,
                                  int64_t now) noexcept {
        return s.t / l.unit - in_units(now, l.unit);
    }

    /// Returns the part of limit * P that is not used. Each product is below 2^53.
    static int64_t room(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return (l.debt_limit - s.debt) * l.period - s.capacity * left_of_window(l, s, now);
    }
};

} // namespace colimit::core::kinds

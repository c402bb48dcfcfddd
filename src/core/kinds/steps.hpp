// SPDX-License-Identifier: BSL-1.0
//
// A bucket whose count comes back all at once: at each period since its first use (stepwise), or
// at multiples of the period (aligned). Debt is in whole tokens, `t` is the next boundary. A state
// that another period has left is repaid from where that period's steps ended. Windows and counters
// read such a state as a bucket of their limit would, so this file has that part of them, too.

#ifndef COLIMIT_CORE_KINDS_STEPS_HPP
#define COLIMIT_CORE_KINDS_STEPS_HPP

#include <core/integers.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

/// Boundaries at multiples of the period since 1970.
struct at_multiples {
    static constexpr bool starts_at_use = false;

    /// The first one after `at`.
    [[nodiscard]] static std::int64_t next(const compiled_rule& l, std::int64_t at) noexcept {
        const auto period = l.period * l.unit;
        return (at / period + 1) * period;
    }
};

/// Boundaries that are counted from the first use.
struct after_use {
    static constexpr bool starts_at_use = true;

    [[nodiscard]] static std::int64_t next(const compiled_rule& l, std::int64_t at) noexcept {
        return at + l.period;
    }
};

/// What a stepped bucket has in common with windows, which count in tokens up to a boundary, too,
/// and are repaid in steps where other numbers have left something.
/// @tparam IsBucket debt above the capacity is repaid, too; windows forget it
template<class Boundaries, bool IsBucket>
struct repaid_in_steps {
    static constexpr bool starts_at_use = Boundaries::starts_at_use;

    [[nodiscard]] static std::int64_t available(const compiled_rule& l, const rule_state& s,
                                                std::int64_t amount,
                                                std::int64_t /*now*/) noexcept {
        return available_of(amount, l.full - s.debt);
    }

    static void charge(const compiled_rule& l, rule_state& s, std::int64_t cost,
                       std::int64_t /*now*/) noexcept {
        if (s.capacity <= 0 || s.num != l.num) [[unlikely]]
            return charge_other(l, s, cost);
        s.debt = sum(s.debt, cost, l.most);
    }

    static void charge_other(const compiled_rule& l, rule_state& s, std::int64_t cost) noexcept {
        versions::owe(l, s, sum(s.debt, cost, l.most),
                      sum(versions::whole(s), cost, most_of_other(l)), IsBucket);
    }

    static void refund(const compiled_rule& l, rule_state& s, std::int64_t cost) noexcept {
        const auto left = std::max<std::int64_t>(0, versions::whole(s) - cost);
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, 0, left, IsBucket);
        s.debt = left;
    }

    static void fold(const compiled_rule& l, rule_state& s) noexcept { versions::fold(l, s); }

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t /*now*/) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                               std::int64_t now) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.count);
        return s.t + (ceil_div(s.debt, l.count) + fill - 1) * whole_period(l) - now;
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& l, const rule_state& a,
                                             const rule_state& b) noexcept {
        return versions::stricter(l, a, b);
    }

    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept {
        return versions::written_after(s);
    }

    /// Reads a state that was stored with other numbers, see versions.hpp. A boundary that is
    /// further away than any of this rule's is moved, as after a clock step.
    [[nodiscard]] static bool advance_other(const compiled_rule& l, rule_state& s,
                                            std::int64_t now) noexcept {
        if (s.capacity < 0) // it is at now
            return false;
        const auto tokens = ceil_div(s.debt, versions::ticks_per_token(s.num));
        const auto owed = std::min(tokens, most_of_other(l));
        const auto counted = versions::counted(l, s, owed);
        const auto first = first_boundary(l, s, now);
        const auto next = Boundaries::next(l, now);
        const auto moved = first > (is_aligned_bucket ? Boundaries::next(l, next) : next);
        const auto steps = now < first ? 0 : (now - first) / whole_period(l) + 1;
        const auto owed_steps = ceil_div(owed, l.count);
        if (l.initial != starts_full && steps - owed_steps >= ceil_div(l.full, l.count))
            return start(l, s, now);
        if (steps >= owed_steps && l.initial == starts_full) {
            (void)start(l, s, now);
            return moved;
        }
        s.t = moved ? moved_boundary(l, s, now) : ends_windows ? next : first + steps * l.period;
        versions::show(l, s, repaid(l, counted, steps), repaid(l, owed, steps));
        if (s.t > next) // up to two periods after the last boundary
            s.num = std::min(l.num + whole_period(l), limits::max_exact_integer);
        return moved;
    }

    /// Debt that another version of the policy may have left saturates there.
    [[nodiscard]] static std::int64_t most_of_other(const compiled_rule& l) noexcept {
        const auto longest = limits::max_repayment.count() / whole_period(l);
        return std::max(l.full, longest != 0 && l.count > most_ticks / longest ? most_ticks
                                                                               : longest * l.count);
    }

  protected:
    static constexpr bool is_aligned_bucket = IsBucket && !starts_at_use;
    /// What is owed ends with a window; what other versions have left is given back in steps.
    static constexpr bool ends_windows = !IsBucket && !starts_at_use;

    [[nodiscard]] static std::int64_t whole_period(const compiled_rule& l) noexcept {
        return l.period * l.unit;
    }

    [[nodiscard]] static std::int64_t sum(std::int64_t debt, std::int64_t cost,
                                          std::int64_t most) noexcept {
        return debt >= most ? debt : cost > most - debt ? most : debt + cost;
    }

    /// The first boundary of this rule that may repay a state of other numbers: a whole period
    /// after the last boundary of the state, and not before its next one, as it is not known when
    /// in between it was charged. So no time is repaid by two rules. Windows that end together for
    /// all keys promise that end: what a shorter one has used counts in the window it ends in. (It
    /// may have been charged in that one, even if it began before: in the one that it began in it
    /// would be forgotten too early.)
    [[nodiscard]] static std::int64_t first_boundary(const compiled_rule& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        const auto period = s.num - steps_mark;
        const auto own = whole_period(l);
        const auto first = period <= 0                     ? std::min(s.t, now) + own
                           : period < own && !ends_windows ? s.t + (own - period)
                                                           : s.t;
        return starts_at_use ? first : Boundaries::next(l, std::max<std::int64_t>(first, 1) - 1);
    }

    /// The next boundary, but a whole period after the last one that has repaid the state.
    [[nodiscard]] static std::int64_t moved_boundary(const compiled_rule& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        const auto next = Boundaries::next(l, now);
        const auto repaid_at = s.t - (s.num - steps_mark);
        const auto is_early = is_aligned_bucket && s.num > steps_mark && repaid_at <= now &&
                              repaid_at + l.period > next;
        return is_early ? Boundaries::next(l, next) : next;
    }

    [[nodiscard]] static std::int64_t repaid(const compiled_rule& l, std::int64_t debt,
                                             std::int64_t steps) noexcept {
        return steps >= ceil_div(debt, l.count) ? 0 : debt - steps * l.count;
    }

    [[nodiscard]] static bool start(const compiled_rule& l, rule_state& s,
                                    std::int64_t now) noexcept {
        s = {.t = Boundaries::next(l, now),
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.marked};
        return l.initial != starts_full;
    }
};

/// A bucket of steps.
template<class Boundaries>
struct stepped : repaid_in_steps<Boundaries, true> {
    using common = repaid_in_steps<Boundaries, true>;

    static constexpr char family = 'b';
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = true;
    static constexpr bool can_reserve = false;

    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        const auto period = period_of(where, r);
        const auto steps = (r.capacity() - 1) / r.count() + 1;
        check_recovery(where, steps > limits::max_recovery.count() / period);
        const auto longest = limits::max_repayment.count() / period;
        const auto tokens =
            product_fits(longest, r.count(), most_ticks) ? longest * r.count() : most_ticks;
        return {.capacity = r.capacity(),
                .num = steps_mark + period,
                .full = r.capacity(),
                .most = std::max(r.capacity(), tokens),
                .period = period,
                .count = r.count(),
                .marked = r.capacity()};
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return ((l.full - 1) / l.count + 1) * l.period;
    }

    [[nodiscard]] static bool advance(const compiled_rule& l, rule_state& s,
                                      std::int64_t now) noexcept {
        if (s.num == 0)
            return common::start(l, s, now);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return common::advance_other(l, s, now);
        s.debt = std::min(s.debt, l.most);
        const auto found = s.t;
        const auto ahead = now < s.t;
        auto steps = std::int64_t{0};
        if constexpr (!Boundaries::starts_at_use) {
            steps = ahead ? 0 : now / l.period - ceil_div(s.t, l.period) + 1;
            s.t = Boundaries::next(l, now);
        } else if (ahead) {
            s.t = std::min(s.t, Boundaries::next(l, now));
        } else {
            steps = (now - s.t) / l.period + 1;
            s.t += steps * l.period;
        }
        const auto owed_steps = ceil_div(s.debt, l.count);
        if (l.initial != starts_full && steps - owed_steps >= ceil_div(l.full, l.count))
            return common::start(l, s, now);
        s.debt = steps >= owed_steps ? 0 : s.debt - steps * l.count;
        const auto moved = ahead && s.t != found;
        // Nothing is owed: the next use is a first one.
        if (s.debt == 0 && l.initial == starts_full)
            (void)common::start(l, s, now);
        return moved;
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto over = amount - (l.full - s.debt);
        return over <= 0 ? 0 : s.t + (ceil_div(over, l.count) - 1) * l.period - now;
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t + (ceil_div(s.debt, l.count) - 1) * l.period - now;
    }

    [[nodiscard]] static bool is_full(const compiled_rule& l, const rule_state& s) noexcept {
        return s.num == 0 || (s.debt == 0 && l.initial == starts_full);
    }

    /// Where now is a boundary, one count comes back at it.
    [[nodiscard]] static rule_state owing(const compiled_rule& l, std::int64_t duration,
                                          std::int64_t now) noexcept {
        BOOST_ASSERT(duration >= 1);
        return {.t = now,
                .debt = product_up_to(l.most, (duration - 1) / l.period + 2, l.count),
                .num = l.num,
                .capacity = l.marked};
    }
};

struct stepwise : stepped<after_use> {
    static constexpr std::string_view description = "a bucket with stepwise()";
};

struct aligned : stepped<at_multiples> {
    static constexpr std::string_view description = "a bucket with aligned()";
};

} // namespace colimit::core::kinds

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Buckets whose whole count returns at boundaries: at each period since the first use (stepwise),
// or at multiples of the period (aligned). Debt is in whole tokens, and `t` is the next boundary.
// Windows and counters read states of other numbers as such a bucket with their limit, so the
// functions for that are here too.
//
// The next boundary is stored and not the last one: with that, a rule whose period has become
// shorter would forgive the charges since then, as many of its boundaries are in between. Before
// the next boundary of the old rule nothing is repaid, unless the new rule has an earlier one; the
// call that finds such a boundary writes it, so repeated calls delay nothing. A formerly continuous
// bucket is recognised by the weight of a token, which is 1 there only for a million per second and
// more: such a bucket gets its first count one period early when it becomes stepped.

#pragma once

#include <core/kinds/kind_base.hpp>

namespace colimit::core::kinds {

/// Boundaries at multiples of the period since 1970.
struct at_multiples {
    static constexpr bool starts_at_use = false;

    /// Returns the first boundary after `at`.
    static int64_t next(const compiled_rule& l, int64_t at) noexcept {
        const auto period = l.period * l.unit;
        return (at / period + 1) * period;
    }
};

/// Boundaries at periods since the first use.
struct after_use {
    static constexpr bool starts_at_use = true;

    static int64_t next(const compiled_rule& l, int64_t at) noexcept { return at + l.period; }
};

/// A kind that counts tokens up to a boundary, and repays states of other numbers in steps.
template<class Boundaries, bool IsBucket>
struct repaid_in_steps : versioned<IsBucket> {
    static constexpr bool starts_at_use = Boundaries::starts_at_use;
    static constexpr bool can_lease = true;

    /// Until the next boundary, which for a key's own periods is a number of them before the full
    /// recovery.
    static int64_t lease_time(const compiled_rule& l, int64_t reset_after, int64_t now) noexcept {
        if (!starts_at_use)
            return Boundaries::next(l, now) - now;
        return reset_after <= 0 ? 0 : (reset_after - 1) % whole_period(l) + 1;
    }

    static void charge(const compiled_rule& l, rule_state& s, int64_t cost,
                       int64_t /*now*/) noexcept {
        if (s.capacity <= 0 || s.num != l.num) [[unlikely]]
            return charge_other(l, s, cost);
        s.debt = sum_up_to(l.debt_max, s.debt, cost, 1);
    }

    static void charge_other(const compiled_rule& l, rule_state& s, int64_t cost) noexcept {
        versions::owe(l, s, sum_up_to(l.debt_max, s.debt, cost, 1),
                      sum_up_to(debt_max_of_other(l), versions::whole(s), cost, 1), IsBucket);
    }

    static int64_t lifetime(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.debt_limit, l.count);
        return s.t + (ceil_div(s.debt, l.count) + fill - 1) * whole_period(l) - now;
    }

    /// Advances a state that was stored with other numbers, see versions.hpp. A boundary beyond all
    /// boundaries that this rule could have stored is moved, as after a clock step.
    static bool advance_other(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        if (s.capacity < 0) // already advanced to now
            return false;
        const auto tokens = ceil_div(s.debt, versions::ticks_per_token(s.num));
        const auto owed = std::min(tokens, debt_max_of_other(l));
        const auto first = first_boundary(l, s, now);
        const auto next = Boundaries::next(l, now);
        const auto moved = first > (is_aligned_bucket ? Boundaries::next(l, next) : next);
        const auto steps = now < first ? 0 : (now - first) / whole_period(l) + 1;
        if (versioned<IsBucket>::is_new_again(l, owed, steps, l.count))
            return start(l, s, now);
        if (steps >= ceil_div(owed, l.count) && l.initial == starts_full) {
            (void)start(l, s, now);
            return moved;
        }
        s.t = moved ? moved_boundary(l, s, now) : ends_windows ? next : first + steps * l.period;
        versions::repay(l, s, owed, steps, l.count);
        if (s.t > next) // up to two periods after the last boundary
            s.num = std::min(l.num + whole_period(l), limits::max_exact_integer);
        return moved;
    }

    static int64_t debt_max_of_other(const compiled_rule& l) noexcept {
        return versions::debt_max_of_other(
            l.debt_limit, limits::max_repayment.count() / whole_period(l), l.count);
    }

  protected:
    static constexpr bool is_aligned_bucket = IsBucket && !starts_at_use;
    /// A debt ends with its window; only states of other numbers are repaid in steps.
    static constexpr bool ends_windows = !IsBucket && !starts_at_use;

    static int64_t whole_period(const compiled_rule& l) noexcept { return l.period * l.unit; }

    static bool start(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        return versioned<IsBucket>::start(l, s, Boundaries::next(l, now));
    }

  private:
    /// Returns the first boundary of this rule that may repay a state of other numbers. It is a
    /// whole period after the last boundary of the state, so that two rules do not repay for the
    /// same time, and not before the next boundary, as the times of the charges are unknown.
    /// Windows that end together for all keys keep that end: a shorter window counts in the one in
    /// which it ends. (The one in which it began could end while its tokens still count.)
    static int64_t first_boundary(const compiled_rule& l, const rule_state& s,
                                  int64_t now) noexcept {
        const auto period = s.num - steps_mark;
        const auto own = whole_period(l);
        const auto first = period <= 0                     ? std::min(s.t, now) + own
                           : period < own && !ends_windows ? s.t + (own - period)
                                                           : s.t;
        return starts_at_use ? first : Boundaries::next(l, std::max<int64_t>(first, 1) - 1);
    }

    /// Returns the next boundary that is a whole period after the last one that repaid the state,
    /// which in an aligned bucket is that of a stepped rule: of others first_boundary is near.
    static int64_t moved_boundary(const compiled_rule& l, const rule_state& s,
                                  int64_t now) noexcept {
        const auto next = Boundaries::next(l, now);
        const auto repaid_at = s.t - (s.num - steps_mark);
        const auto is_early = is_aligned_bucket && repaid_at <= now && repaid_at + l.period > next;
        return is_early ? Boundaries::next(l, next) : next;
    }
};

template<class Boundaries>
struct stepped : repaid_in_steps<Boundaries, true> {
    using base = repaid_in_steps<Boundaries, true>;

    static constexpr char family = 'b';

    static compiled_rule compile(const std::string& where, const rule& r) {
        const auto period = period_of(where, r);
        check_recovery(where, ceil_div(r.capacity(), r.count()), period);
        return {.capacity = r.capacity(),
                .num = steps_mark + period,
                .debt_limit = r.capacity(),
                .debt_max = versions::debt_max_of_other(
                    r.capacity(), limits::max_repayment.count() / period, r.count()),
                .period = period,
                .count = r.count(),
                .stored_capacity = r.capacity()};
    }

    static rule rule_of(const compiled_rule& l) noexcept {
        return base::bucket_of(l, l.count, l.period, 1);
    }

    static int64_t full_recovery(const compiled_rule& l) noexcept {
        return ceil_div(l.debt_limit, l.count) * l.period;
    }

    static bool advance(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        if (s.num == 0)
            return base::start(l, s, now);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return base::advance_other(l, s, now);
        const auto found = s.t;
        const auto ahead = now < s.t;
        auto steps = int64_t{0};
        if constexpr (!Boundaries::starts_at_use) {
            steps = ahead ? 0 : now / l.period - ceil_div(s.t, l.period) + 1;
            s.t = Boundaries::next(l, now);
        } else if (ahead) {
            s.t = std::min(s.t, Boundaries::next(l, now));
        } else {
            steps = (now - s.t) / l.period + 1;
            s.t += steps * l.period;
        }
        const auto debt = std::min(s.debt, l.debt_max);
        if (base::is_new_again(l, debt, steps, l.count))
            return base::start(l, s, now);
        const auto moved = ahead && s.t != found;
        s.debt = versions::repaid(debt, steps, l.count);
        if (s.debt == 0 && l.initial == starts_full) // the next use is a first use
            (void)base::start(l, s, now);
        return moved;
    }

    static int64_t wait_for(const compiled_rule& l, const rule_state& s, int64_t amount,
                            int64_t now) noexcept {
        const auto over = amount - (l.debt_limit - s.debt);
        return over <= 0 ? 0 : s.t + (ceil_div(over, l.count) - 1) * l.period - now;
    }

    static int64_t reset_after(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t + (ceil_div(s.debt, l.count) - 1) * l.period - now;
    }

    /// If `now` is a boundary, a count returns at `now` too.
    static rule_state owing(const compiled_rule& l, int64_t duration, int64_t now) noexcept {
        return {.t = now,
                .debt = product_up_to(l.debt_max, (duration - 1) / l.period + 2, l.count),
                .num = l.num,
                .capacity = l.stored_capacity};
    }
};

struct stepwise : stepped<after_use> {
    static constexpr std::string_view description = "a bucket with stepwise()";
};

struct aligned : stepped<at_multiples> {
    static constexpr std::string_view description = "a bucket with aligned()";
};

} // namespace colimit::core::kinds

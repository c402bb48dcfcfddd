// SPDX-License-Identifier: BSL-1.0
//
// A bucket whose count comes back all at once: at each period since its first use (stepwise), or
// at multiples of the period (aligned). Debt is in whole tokens, `t` is the next boundary. A state
// that another period has left is repaid from where that period's steps ended. Windows and counters
// read such a state as a bucket of their limit would, so this file has that part of them, too.

#ifndef COLIMIT_CORE_STEPPED_HPP
#define COLIMIT_CORE_STEPPED_HPP

#include <core/civil.hpp>
#include <core/integers.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct stepped {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        if (s.num == 0)
            return start(l, s, now);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return bring_other(l, s, now);
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
        return moved;
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
        if (s.capacity <= 0 || s.num != l.num) [[unlikely]]
            return add_to_other(l, s, cost);
        s.debt = sum(s.debt, cost, l.most);
    }

    static void add_to_other(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        versions::owe(l, s, sum(s.debt, cost, l.most),
                      sum(versions::whole(s), cost, most_of_other(l)));
    }

    static void take(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        const auto left = std::max<std::int64_t>(0, versions::whole(s) - cost);
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, 0, left);
        s.debt = left;
    }

    [[nodiscard]] static std::int64_t reset_after(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t + (ceil_div(s.debt, l.count) - 1) * l.period - now;
    }

    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.count);
        return s.t + (ceil_div(s.debt, l.count) + fill - 1) * period_of(l) - now;
    }

    /// Reads a state that was stored with other numbers, see versions.hpp. A boundary that is
    /// further away than any of this rule's is moved, as after a clock step.
    [[nodiscard]] static bool bring_other(const limit& l, rule_state& s,
                                          std::int64_t now) noexcept {
        if (s.capacity < 0) // it is at now
            return false;
        const auto tokens = ceil_div(s.debt, versions::ticks_per_token(s.num));
        const auto owed = std::min(tokens, most_of_other(l));
        const auto counted = versions::counted(l, s, owed);
        const auto first = first_boundary(l, s, now);
        const auto next = next_boundary(l, now);
        const auto moved = first > (l.kind == kind::aligned ? next_boundary(l, next) : next);
        const auto steps = now < first ? 0 : (now - first) / period_of(l) + 1;
        const auto owed_steps = ceil_div(owed, l.count);
        if (l.initial != starts_full && steps - owed_steps >= ceil_div(l.full, l.count))
            return start(l, s, now);
        if (steps >= owed_steps && l.initial == starts_full) {
            (void)start(l, s, now);
            return moved;
        }
        s.t = moved ? moved_boundary(l, s, now) : ends_windows(l) ? next : first + steps * l.period;
        versions::show(l, s, repaid(l, counted, steps), repaid(l, owed, steps));
        if (s.t > next) // up to two periods after the last boundary
            s.num = std::min(l.num + period_of(l), limits::max_exact_integer);
        return moved;
    }

    /// Debt that another version of the policy may have left saturates there.
    [[nodiscard]] static std::int64_t most_of_other(const limit& l) noexcept {
        const auto longest = limits::max_repayment.count() / period_of(l);
        return std::max(l.full, longest != 0 && l.count > most_ticks / longest ? most_ticks
                                                                               : longest * l.count);
    }

    /// After `at`; a period after it where windows and steps begin with the first use.
    [[nodiscard]] static std::int64_t next_boundary(const limit& l, std::int64_t at) noexcept {
        if (l.kind == kind::calendar)
            return calendar_end(l.calendar, l.offset, at);
        return is_aligned(l) ? (at / period_of(l) + 1) * period_of(l) : at + l.period;
    }

  private:
    [[nodiscard]] static bool is_aligned(const limit& l) noexcept {
        return l.kind != kind::stepwise && l.kind != kind::from_first;
    }

    [[nodiscard]] static bool ends_windows(const limit& l) noexcept {
        return l.kind == kind::window || l.kind == kind::calendar || l.kind == kind::counter;
    }

    [[nodiscard]] static std::int64_t period_of(const limit& l) noexcept {
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
    [[nodiscard]] static std::int64_t first_boundary(const limit& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        const auto period = s.num - steps_mark;
        const auto own = period_of(l);
        const auto first = period <= 0                        ? std::min(s.t, now) + own
                           : period < own && !ends_windows(l) ? s.t + (own - period)
                                                              : s.t;
        return is_aligned(l) ? next_boundary(l, std::max<std::int64_t>(first, 1) - 1) : first;
    }

    /// The next boundary, but a whole period after the last one that has repaid the state.
    [[nodiscard]] static std::int64_t moved_boundary(const limit& l, const rule_state& s,
                                                     std::int64_t now) noexcept {
        const auto next = next_boundary(l, now);
        const auto repaid_at = s.t - (s.num - steps_mark);
        const auto is_early = l.kind == kind::aligned && s.num > steps_mark && repaid_at <= now &&
                              repaid_at + l.period > next;
        return is_early ? next_boundary(l, next) : next;
    }

    [[nodiscard]] static std::int64_t repaid(const limit& l, std::int64_t debt,
                                             std::int64_t steps) noexcept {
        return steps >= ceil_div(debt, l.count) ? 0 : debt - steps * l.count;
    }

    [[nodiscard]] static bool start(const limit& l, rule_state& s, std::int64_t now) noexcept {
        s = {.t = next_boundary(l, now),
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = stored_capacity(l)};
        return l.initial != starts_full;
    }
};

} // namespace colimit::core

#endif

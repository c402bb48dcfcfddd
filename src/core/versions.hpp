// SPDX-License-Identifier: BSL-1.0
//
// States that were stored with other numbers. Two versions of a policy may run side by side. In any
// interval W they may together admit at most max(capacity) + max(rate) * W, the bound of a bucket V
// with the larger numbers of both. The stored debt is never below that of V. A rule reads the
// stored debt as
//
//     whole      the stored debt in the rule's own ticks, rounded up, repaid at the rule's own rate
//     view       the same, but at the stored time at most the rule's capacity
//     surplus    whole - view
//
// The view decides. So a lower limit does not deny a client for longer than the limit itself takes
// to recover. View and surplus are computed from the stored state, so a denial has nothing to
// write. If the view has room for a grant, at least as much has been repaid since, so V stays
// within its capacity too.
//
// A change of the debt changes the whole. If the result fits the rule's capacity, it is stored with
// the rule's own numbers. A larger whole is stored with the number of its tokens as the capacity,
// which no version of the policy mistakes for the state of its own full bucket. Debt above the
// capacity that `wait` has reserved is stored with capacity 0; each version reads all of it.
//
// While a call works on a state, `debt` is the view, and a negative capacity is the surplus.
//
// After such a grant the version with the lower capacity starts from its full debt again: while the
// debt of the other one lasts, it is stricter than alone. A rule that counts in milliseconds or
// seconds adds one such unit to W.
//
// A window or a counter reads the state of another period as a stepped bucket does, and repays it
// at its own boundaries: in an interval W windows of two lengths admit at most the larger limit,
// each of the limits once more, and the sum of their rates times W. (A window that spans the end of
// another one counts in the one that it ends in. In the one that it began in it would be forgotten
// while it still counts, and two versions could grant their limits alternately without end.) A log
// is kept for the longest period that has recorded in it since it was empty.
//
// Two states are moved by the first call that finds them, even by a denied one, because the time of
// the charge is not stored: the next boundary of a stepped bucket or a window with a longer period,
// and a stepped bucket that becomes continuous. The debt stays, but the key lives for as long as
// the version that wrote it counts, and debt that this version would repay in more than 366 days is
// forgotten. So the `retry_after` of the other version may be longer than the actual wait.
//
// `charge` stops at 366 days of debt or 2^52 ticks, but never below the capacity: if a full bucket
// takes longer than a year to recover, the plain minimum would record less than `allow` does.

#pragma once

#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core::versions {

/// Returns the ticks per token in a bucket's state.
[[nodiscard]] constexpr std::int64_t ticks_per_token(std::int64_t num) noexcept {
    return num > steps_mark ? 1 : num;
}

/// Returns the debt at which the debt of another version saturates: that of 366 days.
/// @param longest 366 days in the steps in which the rule is repaid
/// @param each the ticks that a step repays
[[nodiscard]] constexpr std::int64_t
debt_max_of_other(std::int64_t debt_limit, std::int64_t longest, std::int64_t each) noexcept {
    return std::max(debt_limit, product_up_to(max_ticks, longest, each));
}

/// Returns the debt that is left after `steps`, each of which repays `each`.
[[nodiscard]] constexpr std::int64_t repaid(std::int64_t debt, std::int64_t steps,
                                            std::int64_t each) noexcept {
    return steps >= ceil_div(debt, each) ? 0 : debt - steps * each;
}

/// Returns the whole debt of a state that a call works on.
[[nodiscard]] constexpr std::int64_t whole(const rule_state& s) noexcept {
    return s.capacity < 0 ? s.debt - s.capacity : s.debt;
}

/// Sets view and surplus.
constexpr void show(const compiled_rule& l, rule_state& s, std::int64_t view,
                    std::int64_t whole) noexcept {
    const auto is_reserved = s.capacity == 0 && view > l.debt_limit;
    s.debt = view;
    s.num = l.num;
    s.capacity = whole > view ? view - whole : is_reserved ? 0 : l.stored_capacity;
}

/// Returns the view of the whole debt at the time at which it was stored.
[[nodiscard]] constexpr std::int64_t counted(const compiled_rule& l, const rule_state& s,
                                             std::int64_t whole) noexcept {
    return s.capacity == 0 ? whole : std::min(whole, l.debt_limit);
}

/// Sets view and surplus after `steps`, each of which has repaid `each` of the stored debt.
constexpr void repay(const compiled_rule& l, rule_state& s, std::int64_t whole, std::int64_t steps,
                     std::int64_t each) noexcept {
    show(l, s, repaid(counted(l, s, whole), steps, each), repaid(whole, steps, each));
}

/// Sets the debt after a change. If the view was charged above the capacity, a bucket owes the
/// whole; a window forgets that when it ends.
constexpr void owe(const compiled_rule& l, rule_state& s, std::int64_t view, std::int64_t whole,
                   bool is_bucket) noexcept {
    const auto num = s.num; // determines whose boundary an aligned bucket waits for
    const auto all = view > l.debt_limit && num == l.num && is_bucket;
    show(l, s, all ? whole : counted(l, s, whole), whole);
    s.num = num;
}

/// Converts a state that a call has worked on to the form in which it is stored.
constexpr void fold(const compiled_rule& l, rule_state& s) noexcept {
    if (s.capacity >= 0)
        return;
    s.debt -= s.capacity;
    s.capacity =
        s.debt <= l.debt_limit ? l.stored_capacity : ceil_div(s.debt, ticks_per_token(s.num));
}

/// Returns whether a stored state has the rule's own form, of which all debt counts.
[[nodiscard]] constexpr bool is_own(const compiled_rule& l, const rule_state& s) noexcept {
    return s.num == l.num && s.capacity == l.stored_capacity;
}

/// Returns a state that is at no time less strict than either of two states. Of the form of another
/// version at most the rule's capacity counts, unless it is a reservation.
/// @param is_own a predicate: the state has the rule's own form
[[nodiscard]] constexpr rule_state stricter_of_others(const compiled_rule& l, const rule_state& a,
                                                      const rule_state& b, auto is_own) noexcept {
    const auto counts_above = [&](const rule_state& s) {
        return s.debt > l.debt_limit && (s.capacity == 0 || is_own(s));
    };
    auto both = larger(a, b);
    if (counts_above(a) || counts_above(b))
        both.capacity = 0;
    else if (both.debt <= l.debt_limit)
        both.capacity = l.stored_capacity;
    else
        both.capacity = ceil_div(both.debt, ticks_per_token(both.num));
    return both;
}

} // namespace colimit::core::versions

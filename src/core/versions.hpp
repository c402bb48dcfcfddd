// SPDX-License-Identifier: BSL-1.0
//
// Debt that was stored with other numbers. Two versions of a policy may run side by side, and what
// they admit together in any interval W must be at most max(capacity) + max(rate) * W: the bound of
// a bucket V with the larger numbers of both. The stored debt is never below that of V:
//
//     whole      the stored debt in the rule's own ticks, rounded up, repaid at the rule's own rate
//     view       the same, but as of the stored time not above the rule's capacity
//     surplus    whole - view
//
// The view decides. So a lower limit denies a client no longer than it needs to recover itself, and
// because view and surplus follow from what is stored, a denial has nothing to write. A grant that
// the view has room for is not above what has been repaid since, so V stays within its capacity
// too.
//
// A change of the debt changes the whole. What fits the rule's capacity afterwards is stored with
// the rule's own numbers. A larger whole is stored with the whole tokens in it as the capacity,
// which no version of the policy mistakes for its own full bucket. Debt above the capacity that
// `wait` has reserved is stored with a capacity of 0, and no version reads less of it.
//
// While a call works on a state, `debt` is the view and a negative capacity is the surplus.

#ifndef COLIMIT_CORE_VERSIONS_HPP
#define COLIMIT_CORE_VERSIONS_HPP

#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core::versions {

/// Ticks per token of a bucket's state.
[[nodiscard]] constexpr std::int64_t ticks_per_token(std::int64_t num) noexcept {
    return num > steps_mark ? 1 : num;
}

/// All that is owed, of a state that a call works on.
[[nodiscard]] constexpr std::int64_t whole(const rule_state& s) noexcept {
    return s.capacity < 0 ? s.debt - s.capacity : s.debt;
}

constexpr void show(const compiled_rule& l, rule_state& s, std::int64_t view,
                    std::int64_t whole) noexcept {
    const auto is_reserved = s.capacity == 0 && view > l.full;
    s.debt = view;
    s.num = l.num;
    s.capacity = whole > view ? view - whole : is_reserved ? 0 : l.marked;
}

/// What counts of the whole at first, as of when it was stored.
[[nodiscard]] constexpr std::int64_t counted(const compiled_rule& l, const rule_state& s,
                                             std::int64_t whole) noexcept {
    return s.capacity == 0 ? whole : std::min(whole, l.full);
}

/// After a change. A view that was charged above the capacity makes a bucket owe the whole; a
/// window forgives that when it ends.
constexpr void owe(const compiled_rule& l, rule_state& s, std::int64_t view, std::int64_t whole,
                   bool is_bucket) noexcept {
    const auto num = s.num; // tells whose boundary an aligned bucket waits for
    const auto all = view > l.full && num == l.num && is_bucket;
    show(l, s, all ? whole : counted(l, s, whole), whole);
    s.num = num;
}

/// The state as it is stored.
constexpr void fold(const compiled_rule& l, rule_state& s) noexcept {
    if (s.capacity >= 0)
        return;
    s.debt -= s.capacity;
    s.capacity = s.debt <= l.full ? l.marked : ceil_div(s.debt, ticks_per_token(s.num));
}

/// When a stored state was written at the earliest: the time of one that is repaid in steps is its
/// next boundary.
[[nodiscard]] constexpr std::int64_t written_after(const rule_state& s) noexcept {
    return s.t - std::max<std::int64_t>(0, s.num - steps_mark);
}

/// Whether a stored state has the rule's own form, of which all counts.
[[nodiscard]] constexpr bool is_own(const compiled_rule& l, const rule_state& s) noexcept {
    return s.num == l.num && s.capacity == l.marked;
}

/// At no time less strict than either of two states. Of the form of another version no more counts
/// than the rule's capacity, except where it stands for a reservation.
/// @param is_own whether a state has the rule's own form
[[nodiscard]] constexpr rule_state stricter_of_others(const compiled_rule& l, const rule_state& a,
                                                      const rule_state& b, auto is_own) noexcept {
    const auto counts_above = [&](const rule_state& s) {
        return s.debt > l.full && (s.capacity == 0 || is_own(s));
    };
    auto both = larger(a, b);
    if (counts_above(a) || counts_above(b))
        both.capacity = 0;
    else if (both.debt <= l.full)
        both.capacity = l.marked;
    else
        both.capacity = ceil_div(both.debt, ticks_per_token(both.num));
    return both;
}

/// The same where states of the rule's own form may be among them.
[[nodiscard]] constexpr rule_state stricter(const compiled_rule& l, const rule_state& a,
                                            const rule_state& b) noexcept {
    if (is_own(l, a) && is_own(l, b))
        return larger(a, b);
    return stricter_of_others(l, a, b, [&l](const rule_state& s) { return is_own(l, s); });
}

} // namespace colimit::core::versions

#endif

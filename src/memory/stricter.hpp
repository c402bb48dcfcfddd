// SPDX-License-Identifier: BSL-1.0
//
// Of two states of one rule, one that is at no time less strict than either.

#ifndef COLIMIT_MEMORY_STRICTER_HPP
#define COLIMIT_MEMORY_STRICTER_HPP

#include <core/integers.hpp>
#include <core/plan.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::memory {

/// Whether a folded state has the rule's own form, of which all counts.
[[nodiscard]] inline bool is_own(const core::limit& l, const core::rule_state& s) noexcept {
    return s.num == l.num && s.capacity == core::stored_capacity(l);
}

/// A counter in its own form, and what another version has left of one. The latter is given back at
/// the end of the window (core/counter.hpp), and so counts up to the limit of what ends there. What
/// this window has used fades for a period after it; it then counts what the other version has
/// left, of which what is above twice the limit is lost for that version.
[[nodiscard]] inline core::rule_state stricter_counter(const core::limit& l, core::rule_state own,
                                                       core::rule_state other) noexcept {
    if (own.debt == 0 && own.capacity <= l.full) {
        other.debt = std::max(other.debt, own.capacity);
        return other;
    }
    own.debt = std::max(own.debt, std::min(other.debt, l.most));
    return own;
}

/// @param a and `b` are brought to one time, at which neither is empty, and folded
[[nodiscard]] inline core::rule_state stricter(const core::limit& l, const core::rule_state& a,
                                               const core::rule_state& b) noexcept {
    using core::kind;
    auto both = core::rule_state{.t = std::max(a.t, b.t),
                                 .debt = std::max(a.debt, b.debt),
                                 .num = std::max(a.num, b.num),
                                 .capacity = std::max(a.capacity, b.capacity)};
    switch (l.kind) {
    case kind::log:
    case kind::distinct:
    case kind::hold:
        return both;
    case kind::counter: {
        const auto other_a = a.num > core::steps_mark;
        const auto other_b = b.num > core::steps_mark;
        if (other_a != other_b)
            return other_a ? stricter_counter(l, b, a) : stricter_counter(l, a, b);
        if (!other_a)
            return both;
        break;
    }
    default:
        if (is_own(l, a) && is_own(l, b))
            return both;
    }
    // Of the form of another version no more counts than the rule's capacity, except where it
    // stands for a reservation (core/versions.hpp).
    const auto counts_above = [&l](const core::rule_state& s) {
        const auto is_limited = l.kind == kind::counter || !is_own(l, s);
        return s.debt > l.full && (s.capacity == 0 || !is_limited);
    };
    if (counts_above(a) || counts_above(b))
        both.capacity = 0;
    else if (both.debt <= l.full)
        both.capacity = core::stored_capacity(l);
    else
        both.capacity = core::ceil_div(both.debt, core::versions::ticks_per_token(both.num));
    return both;
}

} // namespace colimit::memory

#endif

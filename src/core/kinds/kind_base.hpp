// SPDX-License-Identifier: BSL-1.0
//
// Functions that several kinds of rules have in common. A kind derives from one of these structs
// and declares the functions in which it differs; rule_kind.hpp documents each of them.

#pragma once

#include <core/compiled_rule.hpp>
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

using std::int64_t;

/// The defaults of all kinds.
struct kind_base {
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = true;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = false;
    static constexpr bool can_lease = false;

    static rule rule_of(const compiled_rule& l) noexcept {
        return {algorithm{}, l.capacity, l.period * l.unit, l.capacity};
    }
    static int64_t full_recovery(const compiled_rule& l) noexcept { return l.period; }

    static bool advance(const compiled_rule&, rule_state&, int64_t /*now*/) noexcept {
        return false;
    }
    static int64_t available(const compiled_rule& l, const rule_state& s, int64_t amount,
                             int64_t /*now*/) noexcept {
        return available_of(amount, l.debt_limit - s.debt);
    }
    static void refund(const compiled_rule&, rule_state&, int64_t /*cost*/) noexcept {}
    static void fold(const compiled_rule&, rule_state&) noexcept {}
    static int64_t balance(const compiled_rule& l, const rule_state& s, int64_t /*now*/) noexcept {
        return l.debt_limit - s.debt;
    }
    static int64_t lease_time(const compiled_rule&, int64_t /*reset_after*/,
                              int64_t /*now*/) noexcept {
        return 0;
    }
    static int64_t delay_of(const compiled_rule&, int64_t /*tokens*/) noexcept { return 0; }
    static bool is_full(const compiled_rule&, const rule_state& s) noexcept { return s.debt == 0; }
    static rule_state stricter(const compiled_rule&, const rule_state& a,
                               const rule_state& b) noexcept {
        return larger(a, b);
    }
    static int64_t written_after(const rule_state& s) noexcept { return s.t; }
};

/// A kind whose states may have been stored by another version of the policy.
/// @tparam IsBucket debt above the capacity is repaid; windows forget it when they end
template<bool IsBucket>
struct versioned : kind_base {
    static void refund(const compiled_rule& l, rule_state& s, int64_t cost) noexcept {
        const auto left =
            versions::repaid(versions::whole(s), cost, versions::ticks_per_token(l.num));
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, 0, left, IsBucket);
        s.debt = left;
    }
    static void fold(const compiled_rule& l, rule_state& s) noexcept { versions::fold(l, s); }
    static bool is_full(const compiled_rule& l, const rule_state& s) noexcept {
        return s.num == 0 || (s.debt == 0 && l.initial == starts_full);
    }
    static rule_state stricter(const compiled_rule& l, const rule_state& a,
                               const rule_state& b) noexcept {
        if (versions::is_own(l, a) && versions::is_own(l, b))
            return larger(a, b);
        return versions::stricter_of_others(
            l, a, b, [&l](const rule_state& s) { return versions::is_own(l, s); });
    }
    /// The time of a stepped state is its next boundary.
    static int64_t written_after(const rule_state& s) noexcept {
        return s.t - std::max<int64_t>(0, s.num - steps_mark);
    }

  protected:
    /// Returns a bucket that starts with the tokens that `l` says.
    static rule bucket_of(const compiled_rule& l, int64_t count, int64_t period,
                          int64_t ticks) noexcept {
        const auto made = rule{algorithm{}, count, period, l.capacity};
        return l.initial == starts_full ? made : made.initially(l.capacity - l.initial / ticks);
    }

    /// Makes the state that a new key has at `t`. Returns whether it must be stored.
    static bool start(const compiled_rule& l, rule_state& s, int64_t t) noexcept {
        s = {.t = t,
             .debt = std::max<int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.stored_capacity};
        return l.initial != starts_full;
    }

    /// Returns whether a key that started with `initially` counts as new again: after its debt was
    /// repaid, as many steps have passed as an empty bucket takes to fill.
    static bool is_new_again(const compiled_rule& l, int64_t debt, int64_t steps,
                             int64_t each) noexcept {
        return l.initial != starts_full &&
               steps - ceil_div(debt, each) >= ceil_div(l.debt_limit, each);
    }
};

} // namespace colimit::core::kinds

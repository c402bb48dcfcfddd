// SPDX-License-Identifier: BSL-1.0
//
// Different members per window. The store has the sketch that counts them (hyperloglog.hpp, or a
// HyperLogLog of Redis). For each call it advances the window and reports what the sketch counts
// with the member of the call, see state.hpp.

#pragma once

#include <core/kinds/windows.hpp>

namespace colimit::core::kinds {

struct distinct : kind_base {
    static constexpr char family = 'd';
    static constexpr std::string_view description = "a distinct rule";
    static constexpr auto form = state_form::sketch;
    static constexpr bool has_fixed_numbers = false;

    /// The stored state has no numbers.
    static compiled_rule compile(const std::string& where, const rule& r) {
        auto made = make_window(r, period_of(where, r));
        made.num = 1;
        return made;
    }

    /// Advances the state, for a store, before it counts. Returns what `advance` returns.
    static bool advance_window(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        return window::advance_own(l, s, now);
    }

    /// A member is counted once, whatever the cost of the call.
    static int64_t available(const compiled_rule& l, const rule_state& s, int64_t amount,
                             int64_t /*now*/) noexcept {
        const auto counts = amount > 0 && s.num <= l.debt_limit;
        return available_of(amount, counts ? amount : s.debt <= l.debt_limit ? 0 : nothing_fits);
    }

    static int64_t wait_for(const compiled_rule& l, const rule_state& s, int64_t amount,
                            int64_t now) noexcept {
        return available(l, s, amount, now) >= amount ? 0 : until(s.t, now);
    }

    static void charge(const compiled_rule&, rule_state& s, int64_t /*cost*/,
                       int64_t /*now*/) noexcept {
        s.debt = s.num;
    }

    static int64_t reset_after(const compiled_rule&, const rule_state& s, int64_t now) noexcept {
        return s.debt == 0 ? 0 : until(s.t, now);
    }

    static int64_t lifetime(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return reset_after(l, s, now);
    }

    static rule_state owing(const compiled_rule& l, int64_t duration, int64_t now) noexcept {
        return window::owing(l, duration, now);
    }

    /// The capacity in a cell is the period.
    static int64_t written_after(const rule_state& s) noexcept { return s.t - s.capacity; }
};

} // namespace colimit::core::kinds

// SPDX-License-Identifier: BSL-1.0
//
// Places that holders take and give back, as the arithmetic reads them. slot_set.hpp keeps the
// holders; for each call the store reports their number instead of a state, see state.hpp and
// slot_counts.hpp.

#pragma once

#include <core/kinds/kind_base.hpp>

namespace colimit::core::kinds {

struct concurrent : kind_base {
    static constexpr char family = 's';
    static constexpr std::string_view description = "a concurrent rule";
    static constexpr auto form = state_form::slots;
    static constexpr bool has_fixed_numbers = false;

    /// The period is the lease.
    static compiled_rule compile(const std::string& where, const rule& r) {
        if (r.count() > limits::max_concurrent)
            refuse(where,
                   "the limit of concurrent, which remembers every holder, must be at most " +
                       std::to_string(limits::max_concurrent) + " (got " +
                       std::to_string(r.count()) + ")");
        const auto lease = r.period().count();
        if (lease == detail::no_duration || lease < limits::min_slot_lease.count() ||
            lease > limits::max_slot_lease.count())
            refuse(where,
                   "the lease must be a whole number of microseconds, 100 ms to 1 day" +
                       (lease == detail::no_duration ? std::string{}
                                                     : " (got " + std::to_string(lease) + " us)"));
        return {.capacity = r.count(),
                .debt_limit = r.count(),
                .debt_max = limits::max_exact_integer,
                .period = lease,
                .takes_one = true};
    }

    /// An `acquire` takes one slot, whatever its cost.
    static int64_t available(const compiled_rule&, const rule_state& s, int64_t amount,
                             int64_t /*now*/) noexcept {
        return s.capacity == 0 ? amount : nothing_fits;
    }

    /// A slot may be given back earlier.
    static int64_t wait_for(const compiled_rule&, const rule_state& s, int64_t /*amount*/,
                            int64_t now) noexcept {
        return until(s.capacity, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, int64_t /*cost*/,
                       int64_t now) noexcept {
        ++s.debt;
        s.t = now + l.period;
    }

    static int64_t reset_after(const compiled_rule&, const rule_state& s, int64_t now) noexcept {
        return s.debt == 0 ? 0 : until(s.t, now);
    }

    /// The rule's own state is not stored, so it has no lifetime and is always full.
    static int64_t lifetime(const compiled_rule&, const rule_state&, int64_t /*now*/) noexcept {
        return 0;
    }
    static bool is_full(const compiled_rule&, const rule_state&) noexcept { return true; }
    /// Shared states have no holders: no slot is free until a time.
    static rule_state owing(const compiled_rule&, int64_t duration, int64_t now) noexcept {
        return {.t = now + duration};
    }
};

} // namespace colimit::core::kinds

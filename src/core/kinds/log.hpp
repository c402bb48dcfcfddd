// SPDX-License-Identifier: BSL-1.0
//
// A sliding log as the arithmetic reads it. event_log.hpp keeps the events; for each call the store
// reports their counts instead of a state, see state.hpp and log_counts.hpp.

#pragma once

#include <core/event_log.hpp>
#include <core/kinds/kind_base.hpp>

namespace colimit::core::kinds {

struct log : kind_base {
    static constexpr char family = 'l';
    static constexpr std::string_view description = "a sliding_log";
    static constexpr auto form = state_form::log;
    static constexpr bool has_fixed_numbers = false;

    static compiled_rule compile(const std::string& where, const rule& r) {
        if (r.count() > limits::max_log_events)
            refuse(where,
                   "the limit of a sliding log, which remembers every charge, must be at most " +
                       std::to_string(limits::max_log_events) + " (got " +
                       std::to_string(r.count()) + ")");
        return {.capacity = r.count(),
                .debt_limit = r.count(),
                .debt_max = event_log::max_weight,
                .period = period_of(where, r),
                .counts_denied = r.counts_denied()};
    }

    static rule rule_of(const compiled_rule& l) noexcept {
        const auto made = kind_base::rule_of(l);
        return l.counts_denied ? made.count_denied() : made;
    }

    static int64_t wait_for(const compiled_rule&, const rule_state& s, int64_t /*amount*/,
                            int64_t now) noexcept {
        return until(s.capacity, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, int64_t cost, int64_t now) noexcept {
        s.debt = sum_up_to(l.debt_max, s.debt, cost, 1);
        s.t = now;
    }

    static int64_t reset_after(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return s.debt == 0 ? 0 : until(s.t + l.period, now);
    }

    /// The rule's own state is not stored, so it has no lifetime and is always full.
    static int64_t lifetime(const compiled_rule&, const rule_state&, int64_t /*now*/) noexcept {
        return 0;
    }
    static bool is_full(const compiled_rule&, const rule_state&) noexcept { return true; }
    /// Returns no state: shared states have one log per policy instead.
    static rule_state owing(const compiled_rule&, int64_t /*duration*/, int64_t /*now*/) noexcept {
        return {};
    }
};

} // namespace colimit::core::kinds

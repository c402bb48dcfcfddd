// SPDX-License-Identifier: BSL-1.0
//
// A sliding log, as the arithmetic reads it: not the events, which event_log.hpp keeps, but what
// the store reports of them for the current call, see state.hpp and log_counts.hpp.

#ifndef COLIMIT_CORE_KINDS_LOG_HPP
#define COLIMIT_CORE_KINDS_LOG_HPP

#include <core/event_log.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

struct log {
    static constexpr char family = 'l';
    static constexpr std::string_view description = "a sliding_log";
    static constexpr auto form = state_form::log;
    static constexpr bool has_fixed_numbers = false;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = false;

    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        if (r.count() > limits::max_log_events)
            refuse(where,
                   "the limit of a sliding log, which remembers every charge, must be at most " +
                       std::to_string(limits::max_log_events) + " (got " +
                       std::to_string(r.count()) + ")");
        return {.capacity = r.count(),
                .full = r.count(),
                .most = event_log::most,
                .period = period_of(where, r),
                .counts_denied = r.counts_denied()};
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return l.period;
    }

    /// What is reported is of now.
    [[nodiscard]] static bool advance(const compiled_rule& /*l*/, rule_state& /*s*/,
                                      std::int64_t /*now*/) noexcept {
        return false;
    }

    [[nodiscard]] static std::int64_t available(const compiled_rule& l, const rule_state& s,
                                                std::int64_t amount,
                                                std::int64_t /*now*/) noexcept {
        return available_of(amount, l.full - s.debt);
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& /*l*/, const rule_state& s,
                                               std::int64_t /*amount*/, std::int64_t now) noexcept {
        return until(s.capacity, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, std::int64_t cost,
                       std::int64_t now) noexcept {
        if (s.debt < l.most)
            s.debt = cost > l.most - s.debt ? l.most : s.debt + cost;
        s.t = now;
    }

    static void refund(const compiled_rule& /*l*/, rule_state& /*s*/,
                       std::int64_t /*cost*/) noexcept {}

    static void fold(const compiled_rule& /*l*/, rule_state& /*s*/) noexcept {}

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t /*now*/) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : until(s.t + l.period, now);
    }

    /// Of what is stored in the rule's state, which is nothing.
    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& /*l*/, const rule_state& /*s*/,
                                               std::int64_t /*now*/) noexcept {
        return 0;
    }

    [[nodiscard]] static bool is_full(const compiled_rule& /*l*/,
                                      const rule_state& /*s*/) noexcept {
        return true;
    }

    /// Nor has a full store any of it in its shared states, where a log is one for all rules.
    [[nodiscard]] static rule_state owing(const compiled_rule& /*l*/, std::int64_t /*duration*/,
                                          std::int64_t /*now*/) noexcept {
        return {};
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& /*l*/, const rule_state& a,
                                             const rule_state& b) noexcept {
        return larger(a, b);
    }

    /// Of the cell of the key's log: its time is that of the last event.
    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept { return s.t; }
};

} // namespace colimit::core::kinds

#endif

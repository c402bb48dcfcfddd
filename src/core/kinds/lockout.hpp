// SPDX-License-Identifier: BSL-1.0
//
// Denies for a time, whatever is asked: after a grant (`prevent_duplicate`), after `block`, and
// after the first of `once`. The state: `debt` microseconds from `t` on. It is not one of the rules
// that limit an amount: a policy has it behind its rules, and evaluate.cpp asks how long it lasts.

#ifndef COLIMIT_CORE_KINDS_LOCKOUT_HPP
#define COLIMIT_CORE_KINDS_LOCKOUT_HPP

#include <core/rule_compiler.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

struct lockout {
    static constexpr char family = 'h';
    static constexpr std::string_view description = "prevent_duplicate";
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = true;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = false;

    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        const auto period = r.period().count();
        if (period == detail::no_duration || period < 1 || period > limits::max_repayment.count())
            refuse(where,
                   "prevent_duplicate must be a whole number of microseconds, 1 us to 366 days" +
                       (period == detail::no_duration
                            ? std::string{}
                            : " (got " + std::to_string(period) + " us)"));
        return {.capacity = 1, .full = 1, .most = period, .period = period};
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return l.period;
    }

    [[nodiscard]] static bool advance(const compiled_rule& l, rule_state& s,
                                      std::int64_t now) noexcept {
        return advance_up_to(l.period, s, now);
    }

    /// @param longest what counts of it at most, from when it began: a longer one was made by a
    ///                version of the policy with a longer period, for which all of it counts. What
    ///                is above is the negative capacity, see versions.hpp.
    [[nodiscard]] static bool advance_up_to(std::int64_t longest, rule_state& s,
                                            std::int64_t now) noexcept {
        if (s.num == 0) {
            start(s, 0, now);
            return false;
        }
        if (s.capacity < 0) // it is at now
            return false;
        const auto ahead = s.t > now;
        const auto passed = ahead ? 0 : now - s.t;
        const auto all = std::min(s.debt, limits::max_recovery.count());
        const auto left = all - std::min(all, passed);
        const auto counts = std::min(all, longest);
        start(s, counts - std::min(counts, passed), now);
        if (left > s.debt)
            s.capacity = s.debt - left;
        return ahead;
    }

    static void start(rule_state& s, std::int64_t length, std::int64_t now) noexcept {
        s = {.t = now, .debt = length, .num = 1, .capacity = 1};
    }

    /// After a grant. What another version still counts goes on.
    static void restart(rule_state& s, std::int64_t length, std::int64_t now) noexcept {
        const auto left = versions::whole(s);
        start(s, length, now);
        if (left > length)
            s.capacity = length - left;
    }

    [[nodiscard]] static std::int64_t available(const compiled_rule& /*l*/, const rule_state& s,
                                                std::int64_t amount,
                                                std::int64_t /*now*/) noexcept {
        return s.debt > 0 ? nothing_fits : amount;
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& /*l*/, const rule_state& s,
                                               std::int64_t /*amount*/,
                                               std::int64_t /*now*/) noexcept {
        return s.debt;
    }

    /// A grant restarts it, and nothing gives it back.
    static void charge(const compiled_rule& /*l*/, rule_state& /*s*/, std::int64_t /*cost*/,
                       std::int64_t /*now*/) noexcept {}
    static void refund(const compiled_rule& /*l*/, rule_state& /*s*/,
                       std::int64_t /*cost*/) noexcept {}

    static void fold(const compiled_rule& /*l*/, rule_state& s) noexcept { fold(s); }
    static void fold(rule_state& s) noexcept {
        if (s.capacity >= 0)
            return;
        s.debt -= s.capacity;
        s.capacity = 1;
    }

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t /*now*/) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& /*l*/, const rule_state& s,
                                                  std::int64_t /*now*/) noexcept {
        return s.debt;
    }

    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& /*l*/, const rule_state& s,
                                               std::int64_t /*now*/) noexcept {
        return s.debt;
    }

    [[nodiscard]] static bool is_full(const compiled_rule& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0;
    }

    /// Nothing: a store that gives lockouts up remembers for how long they would have lasted.
    [[nodiscard]] static rule_state owing(const compiled_rule& /*l*/, std::int64_t /*duration*/,
                                          std::int64_t now) noexcept {
        return {.t = now, .debt = 0, .num = 1, .capacity = 1};
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& /*l*/, const rule_state& a,
                                             const rule_state& b) noexcept {
        return larger(a, b);
    }

    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept { return s.t; }
};

} // namespace colimit::core::kinds

#endif

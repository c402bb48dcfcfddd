// SPDX-License-Identifier: BSL-1.0
//
// Different members in a window. The sketch that counts them is the store's (hyperloglog.hpp, or a
// HyperLogLog of Redis): for each call the store brings the window to now and reports what the
// sketch counts with the call's member, see state.hpp.

#ifndef COLIMIT_CORE_KINDS_DISTINCT_HPP
#define COLIMIT_CORE_KINDS_DISTINCT_HPP

#include <core/kinds/windows.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

struct distinct {
    static constexpr char family = 'd';
    static constexpr std::string_view description = "a distinct rule";
    static constexpr auto form = state_form::sketch;
    static constexpr bool has_fixed_numbers = false;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = false;

    /// What is stored of it has no numbers.
    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        auto made = make_window(r, period_of(where, r));
        made.num = 1;
        return made;
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return l.period;
    }

    /// The store has done it, before it counted.
    [[nodiscard]] static bool advance(const compiled_rule& /*l*/, rule_state& /*s*/,
                                      std::int64_t /*now*/) noexcept {
        return false;
    }

    /// For the store: whether what is stored must be replaced even by a denial.
    [[nodiscard]] static bool advance_window(const compiled_rule& l, rule_state& s,
                                             std::int64_t now) noexcept {
        return window::advance_own(l, s, now);
    }

    /// A member is counted once, whatever it costs.
    [[nodiscard]] static std::int64_t available(const compiled_rule& l, const rule_state& s,
                                                std::int64_t amount,
                                                std::int64_t /*now*/) noexcept {
        const auto counts = amount > 0 && s.num <= l.full;
        return available_of(amount, counts ? amount : s.debt <= l.full ? 0 : nothing_fits);
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        return available(l, s, amount, now) >= amount ? 0 : until(s.t, now);
    }

    static void charge(const compiled_rule& /*l*/, rule_state& s, std::int64_t /*cost*/,
                       std::int64_t /*now*/) noexcept {
        s.debt = s.num;
    }

    static void refund(const compiled_rule& /*l*/, rule_state& /*s*/,
                       std::int64_t /*cost*/) noexcept {}

    static void fold(const compiled_rule& /*l*/, rule_state& /*s*/) noexcept {}

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t /*now*/) noexcept {
        return l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& /*l*/, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : until(s.t, now);
    }

    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                               std::int64_t now) noexcept {
        return reset_after(l, s, now);
    }

    [[nodiscard]] static bool is_full(const compiled_rule& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0;
    }

    [[nodiscard]] static rule_state owing(const compiled_rule& l, std::int64_t duration,
                                          std::int64_t now) noexcept {
        return window::owing(l, duration, now);
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& /*l*/, const rule_state& a,
                                             const rule_state& b) noexcept {
        return larger(a, b);
    }

    /// Of the cell, which has the period as its capacity.
    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept {
        return s.t - s.capacity;
    }
};

} // namespace colimit::core::kinds

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Counts that start anew with each window: aligned to multiples of a period, from the first charge,
// or of a calendar. The state is the end of its window and what was used; while that end lies ahead
// it counts in the window that the present numbers give. What a window of another length or of
// another kind has used is read as a stepped bucket reads it.

#ifndef COLIMIT_CORE_KINDS_WINDOWS_HPP
#define COLIMIT_CORE_KINDS_WINDOWS_HPP

#include <core/calendar.hpp>
#include <core/kinds/steps.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

template<class Boundaries>
struct windowed : repaid_in_steps<Boundaries, false> {
    using common = repaid_in_steps<Boundaries, false>;

    static constexpr char family = 'w';
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = true;
    static constexpr bool can_reserve = false;

    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        return make_window(r, period_of(where, r));
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return l.period;
    }

    [[nodiscard]] static bool advance(const compiled_rule& l, rule_state& s,
                                      std::int64_t now) noexcept {
        if (s.num != 0 && (s.num != l.num || s.capacity != 1)) [[unlikely]]
            return common::advance_other(l, s, now);
        return advance_own(l, s, now);
    }

    /// What counts goes on to the end of the current window.
    [[nodiscard]] static bool advance_own(const compiled_rule& l, rule_state& s,
                                          std::int64_t now) noexcept {
        const auto counts = s.num != 0 && s.debt != 0 && now < s.t;
        const auto next = Boundaries::next(l, now);
        const auto end = Boundaries::starts_at_use && counts ? std::min(s.t, next) : next;
        const auto moved = counts && s.t != end;
        s = {.t = end, .debt = counts ? std::min(s.debt, l.most) : 0, .num = l.num, .capacity = 1};
        return moved;
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        return amount <= l.full - s.debt ? 0 : s.t - now;
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& /*l*/, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t - now;
    }

    /// What other numbers have left is given back in steps.
    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                               std::int64_t now) noexcept {
        return s.capacity == 1 ? reset_after(l, s, now) : common::lifetime(l, s, now);
    }

    [[nodiscard]] static bool is_full(const compiled_rule& /*l*/, const rule_state& s) noexcept {
        return s.debt == 0;
    }

    /// More than there is, so that not even a cost of 0 fits. That lasts for one window, and longer
    /// it never owes.
    [[nodiscard]] static rule_state owing(const compiled_rule& l, std::int64_t duration,
                                          std::int64_t now) noexcept {
        return {.t = now + duration, .debt = l.full + 1, .num = l.num, .capacity = 1};
    }
};

struct window : windowed<at_multiples> {
    static constexpr std::string_view description = "a fixed_window";
};

struct from_first : windowed<after_use> {
    static constexpr std::string_view description = "a fixed_window with from_first()";
};

/// Boundaries of days, ISO weeks, months or years.
struct of_calendar {
    static constexpr bool starts_at_use = false;

    [[nodiscard]] static std::int64_t next(const compiled_rule& l, std::int64_t at) noexcept {
        return calendar_end(l.calendar, l.offset, at);
    }
};

struct calendar : windowed<of_calendar> {
    static constexpr std::string_view description = "a calendar rule";

    /// Windows of another offset are others: each has microseconds of its own above the length.
    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        if (r.utc_offset() > limits::max_utc_offset || r.utc_offset() < -limits::max_utc_offset)
            refuse(where, "the offset from UTC must be -1080 to 1080 minutes (got " +
                              std::to_string(r.utc_offset().count()) + ")");
        constexpr auto day = std::int64_t{86'400'000'000};
        constexpr std::int64_t longest[] = {day, 7 * day, 31 * day, 366 * day};
        auto made = make_window(r, longest[static_cast<std::size_t>(r.unit())]);
        made.num += 1 + (r.utc_offset() + limits::max_utc_offset).count();
        made.offset = std::chrono::microseconds{r.utc_offset()}.count();
        made.calendar = r.unit();
        return made;
    }
};

} // namespace colimit::core::kinds

#endif

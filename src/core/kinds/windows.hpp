// SPDX-License-Identifier: BSL-1.0
//
// Counts that start again with each window: at multiples of a period, after the first charge, or of
// a calendar. The state is the end of its window and the tokens used. Until that end, they count in
// the window that the current numbers give. A window of another length or kind is read as a stepped
// bucket.

#pragma once

#include <core/kinds/steps.hpp>

#include <chrono>
#include <cstddef>

namespace colimit::core::kinds {

template<class Boundaries>
struct windowed : repaid_in_steps<Boundaries, false> {
    using base = repaid_in_steps<Boundaries, false>;

    static constexpr char family = 'w';

    static compiled_rule compile(const std::string& where, const rule& r) {
        return make_window(r, period_of(where, r));
    }

    static bool advance(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        if (s.num != 0 && (s.num != l.num || s.capacity != 1)) [[unlikely]]
            return base::advance_other(l, s, now);
        return advance_own(l, s, now);
    }

    /// Tokens that count do so until the end of the current window.
    static bool advance_own(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        const auto counts = s.num != 0 && s.debt != 0 && now < s.t;
        const auto next = Boundaries::next(l, now);
        const auto end = Boundaries::starts_at_use && counts ? std::min(s.t, next) : next;
        const auto moved = counts && s.t != end;
        s = {.t = end,
             .debt = counts ? std::min(s.debt, l.debt_max) : 0,
             .num = l.num,
             .capacity = 1};
        return moved;
    }

    static int64_t wait_for(const compiled_rule& l, const rule_state& s, int64_t amount,
                            int64_t now) noexcept {
        return amount <= l.debt_limit - s.debt ? 0 : s.t - now;
    }

    static int64_t reset_after(const compiled_rule&, const rule_state& s, int64_t now) noexcept {
        return s.debt == 0 ? 0 : s.t - now;
    }

    /// States of other numbers are repaid in steps.
    static int64_t lifetime(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return s.capacity == 1 ? reset_after(l, s, now) : base::lifetime(l, s, now);
    }

    /// Returns a debt above the limit, so that not even a cost of 0 fits. A window cannot owe for
    /// longer than its period.
    static rule_state owing(const compiled_rule& l, int64_t duration, int64_t now) noexcept {
        return {.t = now + duration, .debt = l.debt_limit + 1, .num = l.num, .capacity = 1};
    }
};

struct window : windowed<at_multiples> {
    static constexpr std::string_view description = "a fixed_window";
};

struct from_first : windowed<after_use> {
    static constexpr std::string_view description = "a fixed_window with from_first()";
};

/// Returns the end of the window that contains `now`, `offset` microseconds ahead of UTC; for times
/// from 1970 to 2^53 microseconds after it, and for every offset that a rule may have.
constexpr int64_t calendar_end(calendar_unit unit, int64_t offset, int64_t now) noexcept {
    BOOST_ASSERT(now >= 0);
    using namespace std::chrono;
    const auto today = floor<days>(sys_time<microseconds>{microseconds{now + offset}});
    auto end = today + days{1};
    if (unit == calendar_unit::week) {
        end = today + days{7} - (weekday{today} - Monday);
    } else if (unit != calendar_unit::day) {
        const auto date = year_month_day{today};
        end = unit == calendar_unit::month ? (date.year() / date.month() + months{1}) / 1
                                           : (date.year() + years{1}) / January / 1;
    }
    return microseconds{end.time_since_epoch()}.count() - offset;
}

/// Boundaries of days, ISO weeks, months or years.
struct of_calendar {
    static constexpr bool starts_at_use = false;

    static int64_t next(const compiled_rule& l, int64_t at) noexcept {
        return calendar_end(l.calendar, l.offset, at);
    }
};

struct calendar : windowed<of_calendar> {
    static constexpr std::string_view description = "a calendar rule";

    /// Windows of another offset are different windows: `num` is the length plus a number of
    /// microseconds that stands for the offset.
    static compiled_rule compile(const std::string& where, const rule& r) {
        if (r.utc_offset() > limits::max_utc_offset || r.utc_offset() < -limits::max_utc_offset)
            refuse(where, "the offset from UTC must be -1080 to 1080 minutes (got " +
                              std::to_string(r.utc_offset().count()) + ")");
        constexpr auto day = int64_t{86'400'000'000};
        constexpr int64_t longest[] = {day, 7 * day, 31 * day, 366 * day};
        auto made = make_window(r, longest[static_cast<std::size_t>(r.unit())]);
        made.num += 1 + (r.utc_offset() + limits::max_utc_offset).count();
        made.offset = std::chrono::microseconds{r.utc_offset()}.count();
        made.calendar = r.unit();
        return made;
    }

    static rule rule_of(const compiled_rule& l) noexcept {
        using namespace std::chrono;
        return colimit::calendar(l.capacity, l.calendar,
                                 duration_cast<minutes>(microseconds{l.offset}));
    }
};

} // namespace colimit::core::kinds

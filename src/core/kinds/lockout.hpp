// SPDX-License-Identifier: BSL-1.0
//
// A lockout denies every call for a time: after a grant (`prevent_duplicate`), after `block`, and
// after the first call of `once`. The state is a `debt` of microseconds since `t`. A lockout does
// not limit an amount: it is the limit behind the rules, and evaluate.cpp reads its duration.

#pragma once

#include <core/kinds/kind_base.hpp>

namespace colimit::core::kinds {

struct lockout : kind_base {
    static constexpr char family = 'h';
    static constexpr std::string_view description = "prevent_duplicate";

    static compiled_rule compile(const std::string& where, const rule& r) {
        const auto period = r.period().count();
        if (period == detail::no_duration || period < 1 || period > limits::max_repayment.count())
            refuse(where,
                   "prevent_duplicate must be a whole number of microseconds, 1 us to 366 days" +
                       (period == detail::no_duration
                            ? std::string{}
                            : " (got " + std::to_string(period) + " us)"));
        return {.capacity = 1, .debt_limit = 1, .debt_max = period, .period = period};
    }

    static bool advance(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        return advance_up_to(l.period, s, now);
    }

    /// @param longest the longest duration that counts. A longer lockout was stored by a version of
    ///                the policy with a longer period, for which all of it counts: the surplus is
    ///                the negative capacity, see versions.hpp
    static bool advance_up_to(int64_t longest, rule_state& s, int64_t now) noexcept {
        if (s.num == 0) {
            start(s, 0, now);
            return false;
        }
        if (s.capacity < 0) // already advanced to now
            return false;
        const auto ahead = s.t > now;
        const auto passed = ahead ? 0 : now - s.t;
        const auto whole = std::min(s.debt, limits::max_recovery.count());
        const auto counted = std::min(whole, longest);
        set(s, std::max<int64_t>(0, counted - passed), std::max<int64_t>(0, whole - passed), now);
        return ahead;
    }

    static void start(rule_state& s, int64_t duration, int64_t now) noexcept {
        s = {.t = now, .debt = duration, .num = 1, .capacity = 1};
    }

    /// Starts a lockout after a grant. The longer one of another version continues.
    static void restart(rule_state& s, int64_t duration, int64_t now) noexcept {
        set(s, duration, versions::whole(s), now);
    }

    static int64_t available(const compiled_rule&, const rule_state& s, int64_t amount,
                             int64_t /*now*/) noexcept {
        return s.debt > 0 ? nothing_fits : amount;
    }

    static int64_t wait_for(const compiled_rule&, const rule_state& s, int64_t /*amount*/,
                            int64_t /*now*/) noexcept {
        return s.debt;
    }

    /// Does nothing: a grant restarts the lockout.
    static void charge(const compiled_rule&, rule_state&, int64_t /*cost*/,
                       int64_t /*now*/) noexcept {}

    static void fold(const compiled_rule&, rule_state& s) noexcept {
        s.debt = versions::whole(s);
        s.capacity = 1;
    }

    static int64_t reset_after(const compiled_rule&, const rule_state& s,
                               int64_t /*now*/) noexcept {
        return s.debt;
    }

    static int64_t lifetime(const compiled_rule&, const rule_state& s, int64_t /*now*/) noexcept {
        return s.debt;
    }

    /// Returns no debt: shared states record separately until when evicted lockouts deny.
    static rule_state owing(const compiled_rule&, int64_t /*duration*/, int64_t now) noexcept {
        return {.t = now, .debt = 0, .num = 1, .capacity = 1};
    }

  private:
    static void set(rule_state& s, int64_t view, int64_t whole, int64_t now) noexcept {
        start(s, view, now);
        if (whole > view)
            s.capacity = view - whole;
    }
};

} // namespace colimit::core::kinds

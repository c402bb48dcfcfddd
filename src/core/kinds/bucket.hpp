// SPDX-License-Identifier: BSL-1.0
//
// The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371), with the debt of a
// bucket instead of a theoretical arrival time. Debt falls by `den` ticks per unit, never below 0.
// A token adds `num` ticks, and is granted if the debt stays at most `debt_limit`.

#pragma once

#include <core/kinds/kind_base.hpp>

#include <numeric>

namespace colimit::core::kinds {

struct bucket : versioned<true> {
    static constexpr char family = 'b';
    static constexpr std::string_view description =
        "a continuous bucket (gcra, cell, token_bucket or leaky_bucket)";
    static constexpr bool can_reserve = true;
    static constexpr bool can_lease = true;

    static compiled_rule compile(const std::string& where, const rule& r) {
        const auto ticks = [&](int64_t period) { return period / std::gcd(period, r.count()); };
        const auto us = period_of(where, r);
        const auto unit = exact_unit(where, us, "capacity", "burst", [&](int64_t period) {
            return product_fits(r.capacity(), ticks(period), limits::max_exact_integer);
        });
        const auto num = ticks(us / unit);
        const auto den = r.count() / std::gcd(us / unit, r.count());
        const auto debt_limit = r.capacity() * num;
        check_recovery(where, ceil_div(debt_limit, den), unit);
        return {.capacity = r.capacity(),
                .num = num,
                .den = den,
                .unit = unit,
                .debt_limit = debt_limit,
                .debt_max = versions::debt_max_of_other(debt_limit,
                                                        limits::max_repayment.count() / unit, den),
                .stored_capacity = r.capacity()};
    }

    static rule rule_of(const compiled_rule& l) noexcept {
        return bucket_of(l, l.den, product_up_to(limits::max_exact_integer, l.num, l.unit), l.num);
    }

    static int64_t full_recovery(const compiled_rule& l) noexcept {
        return ceil_div(l.debt_limit, l.den) * l.unit;
    }

    static bool advance(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        const auto now_units = in_units(now, l.unit);
        if (s.num == 0)
            return start(l, s, now_units * l.unit);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return advance_other(l, s, now);
        const auto ahead = s.t > now;
        const auto elapsed = elapsed_units(l, s, now_units);
        const auto debt = std::min(s.debt, l.debt_max);
        if (is_new_again(l, debt, elapsed, l.den))
            return start(l, s, now_units * l.unit);
        s.debt = versions::repaid(debt, elapsed, l.den);
        s.t = now_units * l.unit;
        return ahead;
    }

    static int64_t available(const compiled_rule& l, const rule_state& s, int64_t amount,
                             int64_t now) noexcept {
        if (amount <= l.capacity && amount * l.num <= l.debt_limit - s.debt) // without a division
            return amount;
        return available_of(amount, balance(l, s, now));
    }

    static int64_t wait_for(const compiled_rule& l, const rule_state& s, int64_t amount,
                            int64_t now) noexcept {
        const auto room = l.debt_limit - s.debt;
        const auto need = amount * l.num;
        return need <= room ? 0 : wait_of(ceil_div(need - room, l.den), l.unit, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, int64_t cost,
                       int64_t /*now*/) noexcept {
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, sum(l, s.debt, cost, l.debt_max),
                                 sum(l, versions::whole(s), cost, debt_max_of_other(l)), true);
        s.debt = sum(l, s.debt, cost, l.debt_max);
    }

    /// Charges as if at `at`, when the current debt will have been repaid that far.
    static void reserve(const compiled_rule& l, rule_state& s, int64_t cost, int64_t now,
                        int64_t at) noexcept {
        BOOST_ASSERT(at >= now);
        const auto wait = in_units(at, l.unit) - in_units(now, l.unit);
        s.debt = std::max(s.debt, product_up_to(l.debt_max, wait, l.den));
        charge(l, s, cost, now);
        if (s.debt > l.debt_limit)
            s.capacity = 0;
    }

    static int64_t balance(const compiled_rule& l, const rule_state& s, int64_t /*now*/) noexcept {
        return floor_div(l.debt_limit - s.debt, l.num);
    }

    static int64_t reset_after(const compiled_rule& l, const rule_state& s, int64_t now) noexcept {
        return wait_of(ceil_div(s.debt, l.den), l.unit, now);
    }

    /// Returns no earlier end: the capacity pays for what is repaid meanwhile, see
    /// lease_reserve.hpp.
    static int64_t lease_time(const compiled_rule&, int64_t /*reset_after*/,
                              int64_t /*now*/) noexcept {
        return limits::max_lease.count();
    }

    static int64_t delay_of(const compiled_rule& l, int64_t tokens) noexcept {
        return ceil_div(product_up_to(l.debt_limit, tokens, l.num), l.den) * l.unit;
    }

    static int64_t lifetime(const compiled_rule& l, const rule_state& s, int64_t /*now*/) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.debt_limit, l.den);
        return (ceil_div(s.debt, l.den) + fill) * l.unit;
    }

    static rule_state owing(const compiled_rule& l, int64_t duration, int64_t now) noexcept {
        return {.t = now,
                .debt = product_up_to(l.debt_max, (duration - 1) / l.unit + 1, l.den),
                .num = l.num,
                .capacity = l.stored_capacity};
    }

  private:
    static int64_t debt_max_of_other(const compiled_rule& l) noexcept {
        return versions::debt_max_of_other(l.debt_limit, limits::max_repayment.count() / l.unit,
                                           l.den);
    }

    /// Returns the whole units since the state was stored; 0 if it is in the future.
    static int64_t elapsed_units(const compiled_rule& l, const rule_state& s,
                                 int64_t now_units) noexcept {
        const auto stored_at = l.unit == 1 ? s.t : ceil_div(s.t, l.unit);
        return std::max<int64_t>(0, now_units - stored_at);
    }

    static int64_t sum(const compiled_rule& l, int64_t debt, int64_t cost, int64_t most) noexcept {
        // The ticks of a cost up to the capacity are below 2^53, so no division is needed.
        if (debt < most && cost <= l.capacity)
            return std::min(most, debt + cost * l.num);
        return sum_up_to(most, debt, cost, l.num);
    }

    /// Returns the debt in the ticks of `l`; the fraction of a token is rounded up.
    static int64_t in_ticks(const compiled_rule& l, const rule_state& s) noexcept {
        const auto from = versions::ticks_per_token(s.num);
        const auto most = debt_max_of_other(l);
        if (from == l.num)
            return std::min(s.debt, most);
        const auto tokens = s.debt / from;
        if (tokens > most / l.num)
            return most;
        return std::min(most, tokens * l.num + ceil_share(s.debt % from, from, l.num));
    }

    /// Advances a state that was stored with other numbers, see versions.hpp.
    static bool advance_other(const compiled_rule& l, rule_state& s, int64_t now) noexcept {
        if (s.capacity < 0) // already advanced to now
            return false;
        const auto ahead = s.t > now;
        const auto now_units = in_units(now, l.unit);
        const auto elapsed = elapsed_units(l, s, now_units);
        const auto owed = in_ticks(l, s);
        if (is_new_again(l, owed, elapsed, l.den))
            return start(l, s, now_units * l.unit);
        s.t = now_units * l.unit;
        versions::repay(l, s, owed, elapsed, l.den);
        return ahead;
    }
};

} // namespace colimit::core::kinds

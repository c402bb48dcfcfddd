// SPDX-License-Identifier: BSL-1.0
//
// The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371), with the debt of a
// bucket instead of a theoretical arrival time: debt falls by `den` ticks a unit and never below 0,
// a token adds `num` ticks, and what fits below `full` is allowed.

#ifndef COLIMIT_CORE_KINDS_BUCKET_HPP
#define COLIMIT_CORE_KINDS_BUCKET_HPP

#include <core/integers.hpp>
#include <core/rule_compiler.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::core::kinds {

struct bucket {
    static constexpr char family = 'b';
    static constexpr std::string_view description =
        "a continuous bucket (gcra, cell, token_bucket or leaky_bucket)";
    static constexpr auto form = state_form::numbers;
    static constexpr bool has_fixed_numbers = true;
    static constexpr bool starts_at_use = false;
    static constexpr bool can_reserve = true;

    [[nodiscard]] static compiled_rule compile(const std::string& where, const rule& r) {
        const auto period = period_of(where, r);
        for (const auto unit : units) {
            const auto made = compile_in(unit, period, r);
            if (!made)
                continue;
            check_recovery(where,
                           (made->full - 1) / made->den >= limits::max_recovery.count() / unit);
            return *made;
        }
        refuse(where,
               "capacity times period is too large to be counted exactly: choose a smaller burst, "
               "or a period of whole milliseconds or seconds");
    }

    [[nodiscard]] static std::int64_t full_recovery(const compiled_rule& l) noexcept {
        return ((l.full - 1) / l.den + 1) * l.unit;
    }

    [[nodiscard]] static bool advance(const compiled_rule& l, rule_state& s,
                                      std::int64_t now) noexcept {
        const auto now_units = in_units(now, l.unit);
        const auto now_floor = now_units * l.unit;
        if (s.num == 0)
            return start(l, s, now_floor);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return advance_other(l, s, now);
        const auto ahead = s.t > now;
        const auto elapsed =
            ahead ? 0
                  : std::max<std::int64_t>(0,
                                           now_units - (l.unit == 1 ? s.t : ceil_div(s.t, l.unit)));
        s.debt = std::min(s.debt, l.most);
        const auto recovers_in = ceil_div(s.debt, l.den);
        if (l.initial != starts_full && elapsed - recovers_in >= ceil_div(l.full, l.den))
            return start(l, s, now_floor);
        s.debt = elapsed >= recovers_in ? 0 : s.debt - elapsed * l.den;
        s.t = now_floor;
        return ahead;
    }

    [[nodiscard]] static std::int64_t available(const compiled_rule& l, const rule_state& s,
                                                std::int64_t amount, std::int64_t now) noexcept {
        if (amount <= l.capacity && amount * l.num <= l.full - s.debt) // without a division
            return amount;
        return available_of(amount, balance(l, s, now));
    }

    [[nodiscard]] static std::int64_t wait_for(const compiled_rule& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto room = l.full - s.debt;
        const auto need = amount * l.num;
        return need <= room ? 0 : wait_of(ceil_div(need - room, l.den), l.unit, now);
    }

    static void charge(const compiled_rule& l, rule_state& s, std::int64_t cost,
                       std::int64_t /*now*/) noexcept {
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, sum(l, s.debt, cost, l.most),
                                 sum(l, versions::whole(s), cost, most_of_other(l)), true);
        s.debt = sum(l, s.debt, cost, l.most);
    }

    static void refund(const compiled_rule& l, rule_state& s, std::int64_t cost) noexcept {
        const auto owed = versions::whole(s);
        const auto left = cost >= ceil_div(owed, l.num) ? 0 : owed - cost * l.num;
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, 0, left, true);
        s.debt = left;
    }

    /// Charges as at `turn`, when the debt of before will have been repaid that far.
    static void reserve(const compiled_rule& l, rule_state& s, std::int64_t cost, std::int64_t now,
                        std::int64_t turn) noexcept {
        BOOST_ASSERT(turn >= now);
        const auto wait = in_units(turn, l.unit) - in_units(now, l.unit);
        const auto repaid = wait > l.most / l.den ? l.most : wait * l.den;
        s.debt = std::max(s.debt, repaid);
        charge(l, s, cost, now);
        if (s.debt > l.full)
            s.capacity = 0;
    }

    static void fold(const compiled_rule& l, rule_state& s) noexcept { versions::fold(l, s); }

    [[nodiscard]] static std::int64_t balance(const compiled_rule& l, const rule_state& s,
                                              std::int64_t /*now*/) noexcept {
        return floor_div(l.full - s.debt, l.num);
    }

    [[nodiscard]] static std::int64_t reset_after(const compiled_rule& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return wait_of(ceil_div(s.debt, l.den), l.unit, now);
    }

    [[nodiscard]] static std::int64_t lifetime(const compiled_rule& l, const rule_state& s,
                                               std::int64_t /*now*/) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.den);
        return (ceil_div(s.debt, l.den) + fill) * l.unit;
    }

    [[nodiscard]] static bool is_full(const compiled_rule& l, const rule_state& s) noexcept {
        return s.num == 0 || (s.debt == 0 && l.initial == starts_full);
    }

    [[nodiscard]] static rule_state owing(const compiled_rule& l, std::int64_t duration,
                                          std::int64_t now) noexcept {
        BOOST_ASSERT(duration >= 1);
        return {.t = now,
                .debt = product_up_to(l.most, (duration - 1) / l.unit + 1, l.den),
                .num = l.num,
                .capacity = l.marked};
    }

    [[nodiscard]] static rule_state stricter(const compiled_rule& l, const rule_state& a,
                                             const rule_state& b) noexcept {
        return versions::stricter(l, a, b);
    }

    [[nodiscard]] static std::int64_t written_after(const rule_state& s) noexcept {
        return versions::written_after(s);
    }

  private:
    /// Counted in `unit`, if its numbers stay exact there.
    [[nodiscard]] static std::optional<compiled_rule> compile_in(std::int64_t unit, std::int64_t us,
                                                                 const rule& r) {
        if (us % unit != 0)
            return std::nullopt;
        const auto period = us / unit;
        const auto divisor = std::gcd(period, r.count());
        const auto num = period / divisor;
        const auto den = r.count() / divisor;
        if (!product_fits(r.capacity(), num, limits::max_exact_integer))
            return std::nullopt;
        const auto full = r.capacity() * num;
        const auto longest = limits::max_repayment.count() / unit;
        const auto ticks = product_fits(longest, den, most_ticks) ? longest * den : most_ticks;
        return compiled_rule{.capacity = r.capacity(),
                             .num = num,
                             .den = den,
                             .unit = unit,
                             .full = full,
                             .most = std::max(full, ticks),
                             .marked = r.capacity()};
    }

    /// Debt that another version of the policy may have left saturates there.
    [[nodiscard]] static std::int64_t most_of_other(const compiled_rule& l) noexcept {
        const auto longest = limits::max_repayment.count() / l.unit;
        return std::max(l.most, l.den > most_ticks / longest ? most_ticks : longest * l.den);
    }

    [[nodiscard]] static std::int64_t sum(const compiled_rule& l, std::int64_t debt,
                                          std::int64_t cost, std::int64_t most) noexcept {
        if (debt >= most)
            return debt;
        // A cost that the bucket could hold is below 2^53 ticks: no division is needed to be safe.
        if (cost <= l.capacity)
            return std::min(most, debt + cost * l.num);
        return cost > (most - debt) / l.num ? most : debt + cost * l.num;
    }

    /// The debt in the ticks of `l`; the fraction of a token is rounded up.
    [[nodiscard]] static std::int64_t in_ticks(const compiled_rule& l,
                                               const rule_state& s) noexcept {
        const auto from = versions::ticks_per_token(s.num);
        const auto most = most_of_other(l);
        if (from == l.num)
            return std::min(s.debt, most);
        const auto tokens = s.debt / from;
        if (tokens > most / l.num)
            return most;
        const auto ticks = tokens * l.num;
        return std::min(most, ticks + ceil_share(s.debt % from, from, l.num));
    }

    [[nodiscard]] static std::int64_t repaid(const compiled_rule& l, std::int64_t debt,
                                             std::int64_t elapsed) noexcept {
        return elapsed >= ceil_div(debt, l.den) ? 0 : debt - elapsed * l.den;
    }

    /// Reads a state that was stored with other numbers, see versions.hpp.
    [[nodiscard]] static bool advance_other(const compiled_rule& l, rule_state& s,
                                            std::int64_t now) noexcept {
        if (s.capacity < 0) // it is at now
            return false;
        const auto now_units = in_units(now, l.unit);
        const auto ahead = s.t > now;
        const auto since = l.unit == 1 ? s.t : ceil_div(s.t, l.unit);
        const auto elapsed = ahead ? 0 : std::max<std::int64_t>(0, now_units - since);
        const auto owed = in_ticks(l, s);
        if (l.initial != starts_full && elapsed - ceil_div(owed, l.den) >= ceil_div(l.full, l.den))
            return start(l, s, now_units * l.unit);
        const auto counted = versions::counted(l, s, owed);
        s.t = now_units * l.unit;
        versions::show(l, s, repaid(l, counted, elapsed), repaid(l, owed, elapsed));
        return ahead;
    }

    /// A key that does not exist, or has been full for as long as it takes to fill.
    [[nodiscard]] static bool start(const compiled_rule& l, rule_state& s,
                                    std::int64_t now_floor) noexcept {
        s = {.t = now_floor,
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.capacity};
        return l.initial != starts_full;
    }
};

} // namespace colimit::core::kinds

#endif

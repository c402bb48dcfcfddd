// SPDX-License-Identifier: BSL-1.0
//
// The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371), with the debt of a
// bucket instead of a theoretical arrival time: debt falls by `den` ticks a unit and never below 0,
// a token adds `num` ticks, and what fits below `full` is allowed.

#ifndef COLIMIT_CORE_CONTINUOUS_HPP
#define COLIMIT_CORE_CONTINUOUS_HPP

#include <core/integers.hpp>
#include <core/state.hpp>
#include <core/versions.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct continuous {
    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto now_units = in_units(now, l.unit);
        const auto now_floor = now_units * l.unit;
        if (s.num == 0)
            return start(l, s, now_floor);
        if (s.num != l.num || s.capacity != l.capacity) [[unlikely]]
            return bring_other(l, s, now);
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

    [[nodiscard]] static std::int64_t room(const limit& l, const rule_state& s) noexcept {
        return floor_div(l.full - s.debt, l.num);
    }

    [[nodiscard]] static bool fits(const limit& l, const rule_state& s,
                                   std::int64_t amount) noexcept {
        return amount <= l.capacity && amount * l.num <= l.full - s.debt;
    }

    [[nodiscard]] static std::int64_t wait_for(const limit& l, const rule_state& s,
                                               std::int64_t amount, std::int64_t now) noexcept {
        const auto room = l.full - s.debt;
        const auto need = amount * l.num;
        return need <= room ? 0 : wait_of(ceil_div(need - room, l.den), l.unit, now);
    }

    /// Adds without asking, up to where `charge` saturates; a debt that is above already stays.
    static void add(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, sum(l, s.debt, cost, l.most),
                                 sum(l, versions::whole(s), cost, most_of_other(l)));
        s.debt = sum(l, s.debt, cost, l.most);
    }

    static void take(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        const auto owed = versions::whole(s);
        const auto left = cost >= ceil_div(owed, l.num) ? 0 : owed - cost * l.num;
        if (s.capacity <= 0) [[unlikely]]
            return versions::owe(l, s, 0, left);
        s.debt = left;
    }

    /// Charges as at `turn`, when the debt of before will have been repaid that far.
    static void reserve(const limit& l, rule_state& s, std::int64_t cost, std::int64_t now,
                        std::int64_t turn) noexcept {
        const auto wait = in_units(turn, l.unit) - in_units(now, l.unit);
        const auto repaid = wait > l.most / l.den ? l.most : wait * l.den;
        s.debt = std::max(s.debt, repaid);
        add(l, s, cost);
        if (s.debt > l.full)
            s.capacity = 0;
    }

    [[nodiscard]] static std::int64_t reset_after(const limit& l, const rule_state& s,
                                                  std::int64_t now) noexcept {
        return wait_of(ceil_div(s.debt, l.den), l.unit, now);
    }

    [[nodiscard]] static bool is_blank(const limit& l, const rule_state& s) noexcept {
        return s.num == 0 || (s.debt == 0 && l.initial == starts_full);
    }

    /// For how long the state is to be kept.
    [[nodiscard]] static std::int64_t matters_for(const limit& l, const rule_state& s,
                                                  std::int64_t /*now*/) noexcept {
        const auto fill = l.initial == starts_full ? 0 : ceil_div(l.full, l.den);
        return (ceil_div(s.debt, l.den) + fill) * l.unit;
    }

  private:
    /// Debt that another version of the policy may have left saturates there.
    [[nodiscard]] static std::int64_t most_of_other(const limit& l) noexcept {
        const auto longest = limits::max_repayment.count() / l.unit;
        return std::max(l.most, l.den > most_ticks / longest ? most_ticks : longest * l.den);
    }

    [[nodiscard]] static std::int64_t sum(const limit& l, std::int64_t debt, std::int64_t cost,
                                          std::int64_t most) noexcept {
        if (debt >= most)
            return debt;
        // A cost that the bucket could hold is below 2^53 ticks: no division is needed to be safe.
        if (cost <= l.capacity)
            return std::min(most, debt + cost * l.num);
        return cost > (most - debt) / l.num ? most : debt + cost * l.num;
    }

    /// The debt in the ticks of `l`; the fraction of a token is rounded up.
    [[nodiscard]] static std::int64_t in_ticks(const limit& l, const rule_state& s) noexcept {
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

    [[nodiscard]] static std::int64_t repaid(const limit& l, std::int64_t debt,
                                             std::int64_t elapsed) noexcept {
        return elapsed >= ceil_div(debt, l.den) ? 0 : debt - elapsed * l.den;
    }

    /// Reads a state that was stored with other numbers, see versions.hpp.
    [[nodiscard]] static bool bring_other(const limit& l, rule_state& s,
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

    /// A key that is not there, or has been full for as long as it takes to fill.
    [[nodiscard]] static bool start(const limit& l, rule_state& s,
                                    std::int64_t now_floor) noexcept {
        s = {.t = now_floor,
             .debt = std::max<std::int64_t>(l.initial, 0),
             .num = l.num,
             .capacity = l.capacity};
        return l.initial != starts_full;
    }
};

} // namespace colimit::core

#endif

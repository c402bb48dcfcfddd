// SPDX-License-Identifier: BSL-1.0
//
// The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371), with the debt of a
// bucket instead of a theoretical arrival time: debt falls by `den` ticks a unit and never below 0,
// a token adds `num` ticks, and what fits below `full` is allowed.

#ifndef COLIMIT_CORE_CONTINUOUS_HPP
#define COLIMIT_CORE_CONTINUOUS_HPP

#include <core/integers.hpp>
#include <core/state.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::core {

struct continuous {
    /// Writes the debt in the ticks of `l`, if it was counted with other numbers: whole tokens,
    /// rounded up, and no more than the bucket holds, so that a change neither forgives nor locks
    /// out.
    [[nodiscard]] static bool convert(const limit& l, rule_state& s) noexcept {
        if (s.num == l.num && s.capacity == l.capacity)
            return false;
        const auto tokens = ceil_div(s.debt, s.num);
        s.debt = tokens >= l.capacity ? l.full : tokens * l.num;
        s.num = l.num;
        s.capacity = l.capacity;
        return true;
    }

    [[nodiscard]] static bool bring_to_now(const limit& l, rule_state& s,
                                           std::int64_t now) noexcept {
        const auto now_units = in_units(now, l.unit);
        const auto now_floor = now_units * l.unit;
        if (s.num == 0)
            return start(l, s, now_floor);
        const auto converted = convert(l, s);
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
        return converted || ahead;
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
        if (s.debt >= l.most)
            return;
        // A cost that the bucket could hold is below 2^53 ticks: no division is needed to be safe.
        if (cost <= l.capacity)
            s.debt = std::min(l.most, s.debt + cost * l.num);
        else
            s.debt = cost > (l.most - s.debt) / l.num ? l.most : s.debt + cost * l.num;
    }

    static void take(const limit& l, rule_state& s, std::int64_t cost) noexcept {
        s.debt = cost >= ceil_div(s.debt, l.num) ? 0 : s.debt - cost * l.num;
    }

    /// Charges as at `turn`, when the debt of before will have been repaid that far.
    static void reserve(const limit& l, rule_state& s, std::int64_t cost, std::int64_t now,
                        std::int64_t turn) noexcept {
        const auto wait = in_units(turn, l.unit) - in_units(now, l.unit);
        const auto repaid = wait > l.most / l.den ? l.most : wait * l.den;
        s.debt = std::max(s.debt, repaid);
        add(l, s, cost);
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

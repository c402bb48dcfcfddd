// SPDX-License-Identifier: BSL-1.0
//
// What is stored of a key: for each rule four numbers, whatever its kind.
//
//   kind              t                    debt          num             capacity
//   ----------------  -------------------  ------------  --------------  -----------------
//   bucket            debt is as of then   ticks owed    ticks a token   tokens that fit, or 0
//   stepwise, aligned the next boundary    tokens owed   2^52 + period   tokens that fit
//   windows           end of the window    used          2^52 + period   1
//   counter           end of the window    used          its period      used in the previous
//   distinct          end of the window    members       *               1
//   lockout           when it began        us to wait    1               1
//   log               *                    *             *               *
//
// Times are in microseconds. The numbers of buckets and windows come along, so that they can be
// read by a rule with other numbers: versions.hpp explains how, and why a capacity may be larger
// than that of any rule. Windows and counters then keep what a stepped bucket keeps. Logs and
// sketches are more than numbers; what marks them (*) is not stored but told to the arithmetic by
// the store, for the call at hand:
//
//   distinct          num: members if the call's were counted
//   log               t: the newest event (0: none); debt: used; capacity: when `at_least` fits
//                     (0: it fits); num: the same if a refusal were recorded now

#ifndef COLIMIT_CORE_STATE_HPP
#define COLIMIT_CORE_STATE_HPP

#include <core/compiled_policy.hpp>
#include <core/compiled_rule.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace colimit::core {

struct rule_state {
    std::int64_t t = 0;
    std::int64_t debt = 0;
    std::int64_t num = 0; ///< 0: there is no state
    std::int64_t capacity = 0;

    friend bool operator==(const rule_state&, const rule_state&) = default;
};

/// Each number the larger of two.
[[nodiscard]] constexpr rule_state larger(const rule_state& a, const rule_state& b) noexcept {
    return {.t = std::max(a.t, b.t),
            .debt = std::max(a.debt, b.debt),
            .num = std::max(a.num, b.num),
            .capacity = std::max(a.capacity, b.capacity)};
}

/// Nothing fits, not even a cost of 0.
inline constexpr std::int64_t nothing_fits = -1;

/// What of `amount` there is room for.
[[nodiscard]] constexpr std::int64_t available_of(std::int64_t amount, std::int64_t room) noexcept {
    return std::max(std::min(amount, room), nothing_fits);
}

/// From now to a time that a store says. A server may say what cannot be: what has passed is now.
[[nodiscard]] constexpr std::int64_t until(std::int64_t at, std::int64_t now) noexcept {
    return std::max<std::int64_t>(at - now, 0);
}

/// What a store keeps of a rule: the numbers above; nothing, as its events are in the key's log; or
/// numbers and a sketch. Of the last two it reports to the arithmetic what it finds, call by call,
/// and they cannot be packed.
enum class state_form : std::uint8_t { numbers, log, sketch };

/// What the store holds for a key besides the states of its rules.
struct key_header {
    /// Something is there.
    bool exists = false;
    /// It must be replaced even by a refusal: it is no state, or it was moved or converted.
    bool stale = false;
    /// Until when the key is blocked: a hold, or none (num is 0).
    rule_state block{};
};

/// A key's state under a policy: one a slot, in the order of the plan.
struct key_state : key_header {
    std::array<rule_state, most_slots> states{};
};

} // namespace colimit::core

#endif

// SPDX-License-Identifier: BSL-1.0
//
// The stored state of a rule: four numbers, for every kind of rule.
//
//   kind              t                    debt          num              capacity
//   ----------------  -------------------  ------------  ---------------  ------------------
//   bucket            time of the debt     ticks owed    ticks per token  tokens that fit, or 0
//   stepwise, aligned the next boundary    tokens owed   2^52 + period    tokens that fit
//   windows           end of the window    tokens used   2^52 + period    1
//   counter           end of the window    tokens used   its period       used in the previous one
//   distinct          end of the window    members       *                1
//   lockout           its start            duration      1                1
//   log               *                    *             *                *
//   concurrent        *                    *             *                *
//
// Times and durations are in microseconds. Buckets and windows store their numbers, so that a rule
// with other numbers can read the state. versions.hpp explains this, and why a stored capacity may
// be larger than that of any rule. A window or counter that reads such a state stores it as a
// stepped bucket. Logs, sketches and sets of holders are more than numbers. Their fields with * are
// not stored: for each call the store reports them to the arithmetic:
//
//   distinct          num: members, with the member of the call
//   log               t: time of the newest event, or 0; debt: tokens used; capacity: when
//                     `at_least` fits, or 0 if it fits now; num: the same after a recorded denial
//   concurrent        t: when the last lease ends, or 0; debt: holders; capacity: when a slot
//                     becomes free, or 0 if one is; num: for `acquire` the fencing token, if it is
//                     granted, or 0 if there is no memory for it; for `renew` that of the last
//                     grant, or 0 if the holder has lost its slot. For `acquire`, debt and
//                     capacity are without the holder that asks

#pragma once

#include <core/compiled_policy.hpp>
#include <core/compiled_rule.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace colimit::core {

struct rule_state {
    std::int64_t t = 0;
    std::int64_t debt = 0;
    std::int64_t num = 0; ///< 0: no state is stored
    std::int64_t capacity = 0;

    friend bool operator==(const rule_state&, const rule_state&) = default;
};

/// Returns the maximum of each number.
[[nodiscard]] constexpr rule_state larger(const rule_state& a, const rule_state& b) noexcept {
    return {.t = std::max(a.t, b.t),
            .debt = std::max(a.debt, b.debt),
            .num = std::max(a.num, b.num),
            .capacity = std::max(a.capacity, b.capacity)};
}

/// An available amount below every cost, including 0.
inline constexpr std::int64_t nothing_fits = -1;

/// Returns the largest amount up to `amount` that fits in `room`.
[[nodiscard]] constexpr std::int64_t available_of(std::int64_t amount, std::int64_t room) noexcept {
    return std::max(std::min(amount, room), nothing_fits);
}

/// Returns the time from `now` to `at`, or 0 if `at` has passed, as a store may report.
[[nodiscard]] constexpr std::int64_t until(std::int64_t at, std::int64_t now) noexcept {
    return std::max<std::int64_t>(at - now, 0);
}

/// What a store keeps per rule: the numbers above; nothing, because the events are in the log of
/// the key; numbers and a sketch; or nothing, because the holders are in the slot set of the key.
/// Only numbers can be packed.
enum class state_form : std::uint8_t { numbers, log, sketch, slots };

/// The part of a key's state that does not belong to a rule.
struct key_header {
    bool exists = false; ///< the store has a state of the key
    /// Even a denial must replace the stored state: it is invalid, or was moved or converted.
    bool stale = false;
    rule_state block{}; ///< a lockout; num is 0 if the key is not blocked
};

/// The state of a key under a policy: one state per limit, in the order of the compiled policy.
struct key_state : key_header {
    std::array<rule_state, max_states> states{};

    /// Returns the states that the policy has.
    [[nodiscard]] std::span<rule_state> of(const compiled_policy& rules) noexcept {
        return {states.data(), rules.state_count};
    }
};

} // namespace colimit::core

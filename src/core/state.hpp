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
//   hold              the last grant       us to wait    1               1
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

#include <core/plan.hpp>

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

/// The capacity that the rule's own states have.
[[nodiscard]] constexpr std::int64_t stored_capacity(const limit& l) noexcept {
    return is_bucket(l.kind) ? l.capacity : 1;
}

/// What the store holds for a key besides the states of its rules.
struct held {
    /// Something is there.
    bool exists = false;
    /// It must be replaced even by a refusal: it is no state, or it was moved or converted.
    bool stale = false;
    /// Until when the key is blocked: a hold, or none (num is 0).
    rule_state block{};
};

/// A key's state under a policy: one a slot, in the order of the plan.
struct key_state : held {
    std::array<rule_state, most_slots> states{};
};

} // namespace colimit::core

#endif

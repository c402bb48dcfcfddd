// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of a call: from the state of a key, the rules and one instant to a decision and
// the next state. Pure; lua/bucket.lua is its twin, and test/differential holds the two together.

#ifndef COLIMIT_CORE_EVALUATE_HPP
#define COLIMIT_CORE_EVALUATE_HPP

#include <colimit/decision.hpp>
#include <colimit/detail/question.hpp>
#include <core/plan.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace colimit::core {

using detail::question;
using detail::verb;

/// One rule's state as it is stored. The numbers it was counted with come along, so that it can be
/// read by a rule whose numbers have changed since.
struct bucket_state {
    std::int64_t t = 0;        ///< microseconds: debt is as of then
    std::int64_t debt = 0;     ///< ticks
    std::int64_t num = 0;      ///< ticks a token; 0: there is no state
    std::int64_t capacity = 0; ///< tokens

    friend bool operator==(const bucket_state&, const bucket_state&) = default;
};

/// What the store holds for a key.
struct held {
    /// Something is there.
    bool exists = false;
    /// It must be replaced even by a refusal: it is no state, or it was moved or converted.
    bool stale = false;
};

/// A key's state under a policy: one bucket a rule, in the policy's order.
struct key_state : held {
    std::array<bucket_state, limits::rules_per_policy> buckets{};
};

/// What the store has to do with the key now.
enum class effect : std::uint8_t { nothing, store, erase };

/// Decides; `asked` is valid and its clock is set, and there is a state for each rule. Afterwards
/// the states are at `asked.now`, and the ones to be stored if the effect says so; they may be
/// asked again at the same instant.
[[nodiscard]] effect evaluate(const plan& rules, std::span<bucket_state> states, held& what,
                              const question& asked, decision& answer) noexcept;

/// The same for a state that was read as a whole.
[[nodiscard]] effect evaluate(const plan& rules, key_state& state, const question& asked,
                              decision& answer) noexcept;

/// How long after `now` the state still matters: until the last of its rules has recovered.
[[nodiscard]] std::int64_t recovery_time(const plan& rules, const key_state& state) noexcept;

} // namespace colimit::core

#endif

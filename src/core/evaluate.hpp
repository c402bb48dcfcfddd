// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of a call: from the state of a key, the rules and one instant to a decision and
// the next state. Pure; the script is its twin, and test/differential holds the two together.

#ifndef COLIMIT_CORE_EVALUATE_HPP
#define COLIMIT_CORE_EVALUATE_HPP

#include <colimit/decision.hpp>
#include <colimit/detail/call_request.hpp>
#include <core/compiled_policy.hpp>
#include <core/state.hpp>

#include <cstdint>
#include <span>

namespace colimit::core {

using detail::call_request;
using detail::verb;

/// What the store has to do with the key now.
enum class effect : std::uint8_t { nothing, store, erase };

/// Decides; `asked` is valid and its clock is set, and there is a state for each slot, with what
/// state.hpp says of logs and sketches: for `allow`, `peek` and `reserve` as before the call, for
/// the others as after it. Afterwards the states are at `asked.now`, and the ones to be stored if
/// the effect says so; those of rules with stored numbers may be asked again at the same instant.
[[nodiscard]] effect evaluate(const compiled_policy& rules, std::span<rule_state> states,
                              key_header& what, const call_request& request,
                              decision& answer) noexcept;

/// The same for a state that was read as a whole.
[[nodiscard]] effect evaluate(const compiled_policy& rules, key_state& state,
                              const call_request& request, decision& answer) noexcept;

/// How long after `now`, at which the states are, they still matter: until the last of them is as
/// good as none.
[[nodiscard]] std::int64_t lifetime(const compiled_policy& rules,
                                    std::span<const rule_state> states, const key_header& what,
                                    std::int64_t now) noexcept;

/// When a place that `reserve` granted will have been repaid by all rules: what `unreserve` asks
/// for.
[[nodiscard]] std::int64_t recovers_at(const decision& answer) noexcept;

/// Whether answer `a` says more than answer `b` to checks that are made together: of the refusals
/// the one with the longest wait, else the grant with the least remaining, then the longest
/// recovery.
[[nodiscard]] bool binds_more(const decision& a, const decision& b) noexcept;

} // namespace colimit::core

#endif

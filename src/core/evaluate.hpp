// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of a call: from the state of a key, the rules and the time to a decision and the
// next state. It has no side effects. The script is its twin, and test/differential compares them.
//
// Logs and sketches are no numbers, and a log may have 100,000 events. So for each call a store
// reports the facts that such a rule needs (see state.hpp), and the same arithmetic continues from
// there.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/detail/call_request.hpp>
#include <core/compiled_policy.hpp>
#include <core/state.hpp>

#include <cstdint>
#include <span>

namespace colimit::core {

using detail::call_request;
using detail::verb;

/// The change that the store must make to the key.
enum class effect : std::uint8_t { nothing, store, erase };

/// Decides a call that is valid and has a time. Each limit has a state. Those of logs,
/// sketches and sets of holders are reported as in state.hpp: for `reserve` and verbs that test an
/// amount as before the call, for the other verbs as after it. Afterwards the states are at
/// `request.now`, and in the form to be stored if the effect is `store`. States of rules with
/// stored numbers can be used for another call at the same time.
[[nodiscard]] effect evaluate(const compiled_policy& rules, std::span<rule_state> states,
                              key_header& header, const call_request& request,
                              decision& result) noexcept;

/// Decides a call with a state that was read as a whole.
[[nodiscard]] effect evaluate(const compiled_policy& rules, key_state& state,
                              const call_request& request, decision& result) noexcept;

/// Decides a call with states that the store has already brought to `request.now`, for `reset` and
/// `refund` too. The store keeps them itself.
void evaluate_current(const compiled_policy& rules, key_state& state, const call_request& request,
                      decision& result) noexcept;

/// Returns the time after `now`, at which the states are, until all are equivalent to no state.
[[nodiscard]] std::int64_t lifetime(const compiled_policy& rules,
                                    std::span<const rule_state> states, const key_header& header,
                                    std::int64_t now) noexcept;

/// Returns when all rules will have repaid the reservation that `reserve` granted; `unreserve`
/// identifies the reservation by this time.
[[nodiscard]] std::int64_t recovers_at(const decision& result) noexcept;

/// Returns whether decision `a` limits an `allow_all` more than `b`: any denial more than a grant,
/// then the longer wait of a denial, or the lower remaining, then the longer recovery of a grant.
[[nodiscard]] bool binds_more(const decision& a, const decision& b) noexcept;

/// Returns the decision of an `allow_all`: that of the most restrictive check.
template<class Checks, class Projection = std::identity>
[[nodiscard]] decision most_restrictive(const Checks& checks, Projection result = {}) noexcept {
    const auto found = std::ranges::min_element(checks, binds_more, result);
    auto made = std::invoke(result, *found);
    made.limiting_check = static_cast<std::uint8_t>(found - std::ranges::begin(checks));
    return made;
}

} // namespace colimit::core

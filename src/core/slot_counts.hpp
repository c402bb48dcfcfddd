// SPDX-License-Identifier: BSL-1.0
//
// Adapts a set of holders to the arithmetic: reports their number instead of a state, and changes
// the set as a call says. The order of the calls is apply_before, report_counts, evaluate,
// apply_after; a store calls `slot_set::make_room` before them for a call that may be granted a
// slot.

#pragma once

#include <core/evaluate.hpp>
#include <core/slot_set.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace colimit::core {

/// Returns the index of the policy's `concurrent` rule, which it has.
[[nodiscard]] std::size_t slot_rule_of(const compiled_policy& rules) noexcept;

/// Changes the set for a verb that tests no amount. Returns whether it changed.
[[nodiscard]] bool apply_before(slot_set& set, const compiled_policy& rules,
                                const call_request& request) noexcept;

/// Sets the state of the `concurrent` rule, as documented in state.hpp.
void report_counts(const slot_set& set, const compiled_policy& rules, const call_request& request,
                   std::span<rule_state> states) noexcept;

/// Returns whether a call fails because its store has no memory for what it may add.
/// @param states those that were reported for the call
[[nodiscard]] bool lacks_memory(const compiled_policy& rules, std::span<const rule_state> states,
                                const call_request& request) noexcept;

/// Changes the set for a verb that tests an amount, after the decision. Returns whether it changed.
[[nodiscard]] bool apply_after(slot_set& set, const compiled_policy& rules,
                               const call_request& request, const decision& result) noexcept;

/// Returns the time after `now` until all leases have ended.
[[nodiscard]] std::int64_t lifetime(const slot_set& set, std::int64_t now) noexcept;

/// Returns the fencing token of a call that has been decided, or 0 if it was not granted a slot.
/// @param states those that were reported for the call
[[nodiscard]] std::uint64_t fencing_token(const compiled_policy& rules,
                                          std::span<const rule_state> states,
                                          const call_request& request,
                                          const decision& result) noexcept;

} // namespace colimit::core

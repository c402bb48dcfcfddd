// SPDX-License-Identifier: BSL-1.0
//
// Adapts a sliding log to the arithmetic: reports its counts instead of states, and records what a
// call charges. All log rules of a policy share one log per key, which keeps events for the longest
// of their periods. The order of the calls is apply_before, report_counts, evaluate, apply_after.

#pragma once

#include <core/evaluate.hpp>
#include <core/event_log.hpp>

#include <span>

namespace colimit::core {

/// Changes the log for a verb that tests no amount. Returns whether it changed.
/// @param may_grow as for event_log::record
[[nodiscard]] bool apply_before(event_log& log, const compiled_policy& rules,
                                const call_request& request, bool may_grow = true) noexcept;

/// Sets the states of the log rules, as documented in state.hpp.
void report_counts(const event_log& log, const compiled_policy& rules, const call_request& request,
                   std::span<rule_state> states) noexcept;

/// Changes the log for a verb that tests an amount, after the decision. Returns whether it changed.
[[nodiscard]] bool apply_after(event_log& log, const compiled_policy& rules,
                               const call_request& request, const decision& result,
                               bool may_grow = true) noexcept;

/// Returns the time after `now` until no event of the log can count.
[[nodiscard]] std::int64_t lifetime(const event_log& log, const compiled_policy& rules,
                                    std::int64_t now) noexcept;

} // namespace colimit::core

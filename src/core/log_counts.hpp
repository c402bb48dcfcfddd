// SPDX-License-Identifier: BSL-1.0
//
// What a sliding log tells the arithmetic, in the place of a state, and what a call does to it. All
// log rules of a policy share one log of the key, which keeps the longest of their periods.
//
// In this order:  apply_before, tell, evaluate, apply_after.

#ifndef COLIMIT_CORE_LOG_COUNTS_HPP
#define COLIMIT_CORE_LOG_COUNTS_HPP

#include <core/evaluate.hpp>
#include <core/event_log.hpp>

#include <span>

namespace colimit::core {

/// What the verbs that do not ask do to the log.
/// @param may_grow as for event_log::record. True when the log changed.
[[nodiscard]] bool apply_before(event_log& log, const compiled_policy& rules,
                                const call_request& request, bool may_grow = true) noexcept;

/// Fills the states of the log rules: as state.hpp says.
void report_counts(const event_log& log, const compiled_policy& rules, const call_request& request,
                   std::span<rule_state> states) noexcept;

/// What the verbs that ask do to the log, once there is an answer.
[[nodiscard]] bool apply_after(event_log& log, const compiled_policy& rules,
                               const call_request& request, const decision& answer,
                               bool may_grow = true) noexcept;

/// For how long after `now` events still matter.
[[nodiscard]] std::int64_t lifetime(const event_log& log, const compiled_policy& rules,
                                    std::int64_t now) noexcept;

} // namespace colimit::core

#endif

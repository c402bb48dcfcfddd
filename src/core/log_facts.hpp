// SPDX-License-Identifier: BSL-1.0
//
// What a sliding log tells the arithmetic, in the place of a state, and what a call does to it. All
// log rules of a policy share one log of the key, which keeps the longest of their periods.
//
// In this order:  change_before, tell, evaluate, change_after.

#ifndef COLIMIT_CORE_LOG_FACTS_HPP
#define COLIMIT_CORE_LOG_FACTS_HPP

#include <core/evaluate.hpp>
#include <core/event_log.hpp>

#include <span>

namespace colimit::core {

/// What the verbs that do not ask do to the log.
/// @param may_grow as for event_log::record. True when the log changed.
[[nodiscard]] bool change_before(event_log& log, const plan& rules, const question& asked,
                                 bool may_grow = true) noexcept;

/// Fills the states of the log rules: as state.hpp says.
void tell(const event_log& log, const plan& rules, const question& asked,
          std::span<rule_state> states) noexcept;

/// What the verbs that ask do to the log, once there is an answer.
[[nodiscard]] bool change_after(event_log& log, const plan& rules, const question& asked,
                                const decision& answer, bool may_grow = true) noexcept;

/// For how long after `now` events still matter.
[[nodiscard]] std::int64_t lifetime(const event_log& log, const plan& rules,
                                    std::int64_t now) noexcept;

} // namespace colimit::core

#endif

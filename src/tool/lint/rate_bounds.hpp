// SPDX-License-Identifier: BSL-1.0
//
// How much a rule allows at most, and whether another rule can still deny any of it. Bounds are on
// the safe side: a rule that is reported as implied never denies, and some that never deny are not
// reported.

#pragma once

#include <colimit/rule.hpp>

#include <chrono>

namespace tool::lint {

/// Returns whether the rule limits tokens per time, rather than members or holders.
[[nodiscard]] bool limits_tokens(const colimit::rule& r) noexcept;

/// Returns how many tokens the rule grants at most in any interval of this length, ends included.
[[nodiscard]] double most_within(const colimit::rule& r, std::chrono::microseconds length);

/// Returns the tokens per day that the rule grants in the long run.
[[nodiscard]] double tokens_per_day(const colimit::rule& r);

/// Returns how long an empty bucket takes to be full; 0 for other rules.
[[nodiscard]] std::chrono::microseconds recovery(const colimit::rule& r);

/// Returns whether the rule never denies a call that `stricter` allows, if both count the same
/// grants.
[[nodiscard]] bool is_implied_by(const colimit::rule& r, const colimit::rule& stricter);

} // namespace tool::lint

// SPDX-License-Identifier: BSL-1.0
//
// Several identical calls in sequence, as an entry of a batch has them, in the time of one.

#pragma once

#include <core/evaluate.hpp>

#include <cstdint>

namespace colimit::core {

/// Makes an `allow` of all or nothing so many times. Returns how many were granted; they precede
/// the denied ones. All states are numbers, and the rules have no lockout.
[[nodiscard]] std::int64_t allow_times(const compiled_policy& rules, key_state& state,
                                       const call_request& request, std::int64_t times) noexcept;

} // namespace colimit::core

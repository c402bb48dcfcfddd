// SPDX-License-Identifier: BSL-1.0
//
// Policies of 1 to 8 rules, and what becomes of their rules in the course of time.

#pragma once

#include <support/rng.hpp>

#include <colimit/policy.hpp>

#include <vector>

namespace colimit::differential {

/// 1 to 5 versions of a policy.
/// @param quick rules that recover within seconds, for histories in real time
/// @param packed their states are, so their rules are numbers
[[nodiscard]] std::vector<policy> random_versions(test::rng& d, bool quick, bool packed);

} // namespace colimit::differential

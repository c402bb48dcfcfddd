// SPDX-License-Identifier: BSL-1.0
//
// Invalid values: noise, truncated values, and values with one impossible number.

#pragma once

#include <support/rng.hpp>

#include <core/compiled_policy.hpp>

#include <cstdint>
#include <string>

namespace colimit::differential {

/// Returns a possible value of a key of this policy at about `now`.
[[nodiscard]] std::string random_bytes(test::rng& d, const core::compiled_policy& rules,
                                       std::int64_t now);

} // namespace colimit::differential

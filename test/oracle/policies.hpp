// SPDX-License-Identifier: BSL-1.0
//
// The limits as policies of the library.
//
// Each policy for tokens has a second rule that never denies: a window of a century. What it counts
// is what the server has granted, charged in the same step as the limit, leases included.

#pragma once

#include "record.hpp"

#include <colimit/policy.hpp>

#include <cstdint>
#include <vector>

namespace colimit::oracle {

/// The tokens of the second rule.
inline constexpr auto no_limit = std::int64_t{1} << 40;

[[nodiscard]] std::vector<policy> policies_of(mode m);

} // namespace colimit::oracle

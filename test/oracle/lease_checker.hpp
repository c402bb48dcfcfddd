// SPDX-License-Identifier: BSL-1.0
//
// Judges calls of processes with leases by plain arithmetic of its own: no code of the library
// decides here.
//
// When a token of a lease was spent is known to within the call only. So tokens count for an
// interval if they were spent in it for sure: what is reported is wrong however the calls were
// timed, and a limiter that is right is never blamed.

#pragma once

#include "leased_limits.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace colimit::oracle {

/// Returns by how many tokens, at least, one key was admitted more than its limit: for buckets in
/// the worst of all intervals, for windows in the sum over all of them.
/// @param all of one key; its order is changed
/// @param losses when all state was lost, ascending; each allows one more capacity to intervals
///        that begin at most a lease later
[[nodiscard]] std::int64_t excess(const leased_limit& l, std::span<admission> all,
                                  const std::vector<std::int64_t>& losses);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// How soon each process had a decision by the server to which each failover led.

#pragma once

#include "deployment.hpp"
#include "record.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace colimit::oracle {

struct first_decisions {
    std::vector<std::int64_t> times = {}; ///< microseconds
    std::int64_t missing = 0;             ///< there was none before the next failover

    void add(const first_decisions& more);
    /// Returns whether none is missing, and 99 % came within this time.
    [[nodiscard]] bool are_soon(std::int64_t within) const;
    /// `median 1 ms, p99 2 ms, max 3 ms, of 160`
    [[nodiscard]] std::string text() const;
};

/// When there is no next failover.
inline constexpr auto never = std::numeric_limits<std::int64_t>::max();

/// Returns one time, or that it is missing; or nothing, if it is not timed: after a failover with
/// others, in which the new server may have been replaced at once, and by a process that was cut
/// off from it.
/// @param records of one process, in any order
/// @param next when the next failover began
/// @param was_cut_off whether the process was on the first side of partitions
[[nodiscard]] first_decisions first_decision_of(const std::vector<record>& records,
                                                const failover& f, std::int64_t next,
                                                bool has_one_connection, bool was_cut_off);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// How soon each process had a decision by the server to which each failover led.

#pragma once

#include "deployment.hpp"
#include "record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colimit::oracle {

struct first_decisions {
    std::vector<std::int64_t> times; ///< microseconds
    std::int64_t missing = 0;        ///< there was none before the next failover

    void add(const first_decisions& more);
    /// Returns whether none is missing, and 99 % came within this time.
    [[nodiscard]] bool are_soon(std::int64_t within) const;
    /// `median 1 ms, p99 2 ms, max 3 ms, of 160`
    [[nodiscard]] std::string text() const;
};

/// @param records of one process, in any order
/// @param all in their order
/// @param was_cut_off whether it was on the first side of partitions: their times are not counted,
///        as it could not know of the new server. Nor are those of failovers with others, in which
///        the new server may have been replaced at once.
[[nodiscard]] first_decisions first_decisions_of(const std::vector<record>& records,
                                                 const std::vector<failover>& all,
                                                 bool has_one_connection, bool was_cut_off);

} // namespace colimit::oracle

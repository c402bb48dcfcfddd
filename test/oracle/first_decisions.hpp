// SPDX-License-Identifier: BSL-1.0
//
// How soon each process had a decision by the server to which each failover led.

#pragma once

#include "record.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace colimit::oracle {

/// Another server became responsible for some keys.
struct failover {
    std::int64_t begin = 0; ///< nothing had been done yet
    /// When clients could know of the new server: its address was published, or it served the keys.
    std::int64_t known = 0;
    key_set keys = key_set{}.set();
    std::optional<oracle::loss> loss = {}; ///< nothing if no state may be lost
    /// From then until then the old server was back and no replica yet: decisions may be its own.
    std::int64_t old_back = 0;
    std::int64_t old_demoted = 0;
    bool has_partition = false; ///< processes on the first side were cut off
    bool had_others = false;    ///< servers replaced each other more often than ordered
};

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

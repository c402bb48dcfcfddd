// SPDX-License-Identifier: BSL-1.0
//
// Failovers of every kind while processes call: what the checker finds, and how soon each limiter
// decided by the new server.

#pragma once

#include "caller.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

struct campaign_order {
    enum class deployment_kind : std::uint8_t { sentinel, cluster };
    deployment_kind deployment = deployment_kind::sentinel;
    int failovers = 2;   ///< of each kind
    std::string only;    ///< the name of one kind; all without it
    int processes = 4;   ///< at least 2
    int within_ms = 300; ///< in which 99 % of the first decisions must be made
    std::uint64_t seed = 1;
    std::optional<oracle::flaw> flaw; ///< `no_follow`
};

/// Prints what it did and found. Returns whether all is well.
[[nodiscard]] bool run_campaign(const campaign_order& order);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// Runs of the oracle: on one server, or during failovers.

#pragma once

#include "caller.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

enum class servers : std::uint8_t { one, sentinel, cluster };

struct order {
    oracle::mode mode = mode::calls;
    std::int64_t checks = 100'000; ///< calls that are decided, or ids
    int processes = 4;
    bool has_faults = false;
    std::string server; ///< a private one if empty
    std::uint64_t seed = 1;
    std::optional<oracle::flaw> flaw;

    oracle::servers servers = servers::one;
    int failovers = 2;     ///< of each kind
    std::string only = {}; ///< the name of one kind; all without it
    int within_ms = 300;   ///< in which 99 % of the first decisions must be made
};

/// Prints what it did and found. Returns whether all is well.
[[nodiscard]] bool run_on_one_server(const order& o);
[[nodiscard]] bool run_with_failovers(const order& o);

} // namespace colimit::oracle

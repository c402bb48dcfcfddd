// SPDX-License-Identifier: BSL-1.0
//
// Processes that make calls with shared request ids, with a server that is killed and keeps its
// state on disk.

#pragma once

#include <cstdint>
#include <string>

namespace colimit::oracle {

struct request_order {
    std::int64_t checks = 100'000; ///< ids
    int processes = 4;
    bool faults = false;
    std::string server; ///< a private one if empty
    std::uint64_t seed = 1;
    bool forgets_records = false; ///< the server forgets ids: a mistake that must show
};

/// Prints what it did and found. Returns whether all is well.
[[nodiscard]] bool run_with_requests(const request_order& order);

} // namespace colimit::oracle

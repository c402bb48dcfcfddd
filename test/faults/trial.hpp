// SPDX-License-Identifier: BSL-1.0
//
// One cell of the cut matrix: a limiter of its own behind proxies of its own says one of a few
// fixed things to real servers, and one fault strikes. Afterwards the servers' counters are read
// past the proxies, and what callers were told is held against them.

#pragma once

#include <faults/conversation.hpp>
#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colimit::test {

/// The servers of trials: one, or the nodes of a cluster.
struct trial_servers {
    std::string direct;             ///< config::server of a limiter that uses no proxy
    std::vector<std::string> nodes; ///< the address of each, for its proxy and for `raw_client`
    /// The ports that nodes of a cluster announce; they are of 127.0.0.1.
    std::vector<std::uint16_t> announced = {};

    [[nodiscard]] bool is_cluster() const noexcept { return !announced.empty(); }
};

struct trial {
    int number;             ///< a key is made of it: no two trials on a server may have the same
    std::size_t connection; ///< that the fault strikes: index in conversation::connections
    test::fault wrong;
    /// For calls that hear nothing.
    std::chrono::milliseconds deadline{60};
};

/// The results of several trials.
struct findings {
    std::vector<std::string> wrong;
    std::int64_t calls = 0;
    std::int64_t answered = 0;
    std::int64_t unknown = 0;
    std::int64_t refused = 0; ///< with another code
    std::int64_t unfinished = 0;
    /// Trials whose deadline passed before the fault could come to pass, or before a reply that it
    /// let through was heard, or in which no connection was made in time: on a busy machine.
    std::vector<trial> missed;
    /// Results whose numbers are not the key's: flips inside values.
    std::int64_t other_numbers = 0;
};

/// The messages of one of the conversation's connections without a fault, by way.
[[nodiscard]] std::array<std::vector<std::string>, 2>
record(const trial_servers& servers, const conversation& c, std::size_t connection);

/// Runs them, many at once, and adds to what was found before.
void run_trials(const trial_servers& servers, const conversation& c, const std::vector<trial>& row,
                findings& found);

} // namespace colimit::test

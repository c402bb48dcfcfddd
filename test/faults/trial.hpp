// SPDX-License-Identifier: BSL-1.0
//
// One cell of the cut matrix: a limiter of its own behind a proxy of its own says one of a few
// fixed things to a real server, and one fault strikes. Afterwards the server's counters are read
// past the proxy, and what callers were told is held against them.

#pragma once

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// A call of a conversation.
struct asked_call {
    std::string_view name; ///< of the key; any two differ in more than one bit
    const colimit::policy* rules;
    std::int64_t already; ///< what the key was charged before, so that its answer is known by it
    std::size_t message;  ///< the command whose reply ends it
};

/// The messages of a limiter on a connection.
struct conversation {
    std::string_view name;
    execution_mode mode = execution_mode::script;
    std::vector<asked_call> calls;
    std::size_t greeting; ///< messages, each way
    /// Replies that tell this process the time, by which it says what counts.
    std::vector<std::size_t> clocks = {};
    bool seen = false; ///< ids of a Bloom filter instead of keys
};

[[nodiscard]] conversation allow_conversation();
[[nodiscard]] conversation seen_conversation();
[[nodiscard]] conversation transaction_conversation();

/// The messages of a conversation as they are without a fault, by way.
[[nodiscard]] std::array<std::vector<std::string>, 2> record(const redis_server& server,
                                                             const conversation& c);

struct trial {
    int number; ///< a key is made of it: no two trials on a server may have the same
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
    /// let through was heard: on a busy machine.
    std::vector<trial> missed;
    /// Results whose numbers are not the key's: flips inside values.
    std::int64_t other_numbers = 0;
};

/// Runs them, many at once, and adds to what was found before.
void run_trials(const redis_server& server, const conversation& c, const std::vector<trial>& row,
                findings& found);

} // namespace colimit::test

// SPDX-License-Identifier: BSL-1.0
//
// The fixed conversations of the cut matrix: which calls a limiter makes, and which commands carry
// them, on which of its connections.

#pragma once

#include <colimit/bloom_filter.hpp>
#include <colimit/config.hpp>
#include <colimit/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// A message of a conversation.
struct place {
    std::size_t connection; ///< index in conversation::connections
    std::size_t message;
};

/// A call of a conversation.
struct asked_call {
    std::string_view name; ///< of the key; any two differ in more than one bit
    const colimit::policy* rules;
    std::int64_t already; ///< what the key was charged before, so that its answer is known by it
    /// The commands that carry it, on a connection each: servers reject it except the last one,
    /// whose reply ends it.
    std::vector<place> path;
    /// On a cluster: whether its key may be in this hash slot.
    std::function<bool(std::size_t slot)> in_slot = {};
};

/// A connection of the limiter.
struct conversation_connection {
    /// Messages each way before those of calls: all of them on a connection for the map.
    std::size_t handshake;
    std::size_t node = 0; ///< index of the server
    int number = 1;       ///< of the connections to this server
    bool is_for_map = false;
};

/// The messages of a limiter.
struct conversation {
    std::string_view name;
    execution_mode mode = execution_mode::script;
    std::vector<conversation_connection> connections;
    std::vector<asked_call> calls;
    /// Replies on the first connection that tell this process the time, by which it says what
    /// counts.
    std::vector<std::size_t> clocks = {};
    bool seen = false;    ///< ids of a Bloom filter instead of keys
    bool has_ids = false; ///< calls have ids, so that a lost connection ends none of them
    /// The first map names each of two nodes instead of the other one.
    bool has_stale_map = false;
    /// An EVALSHA whose script the server has forgotten.
    std::optional<place> forgotten = {};
};

/// Policies that refill so slowly that nothing comes back while a test runs.
[[nodiscard]] const policy& bucket_policy();
[[nodiscard]] const policy& log_policy();
[[nodiscard]] const policy& window_policy();
/// The filter of ids.
[[nodiscard]] const bloom_filter& id_filter();

/// What the call's decision must report.
[[nodiscard]] std::int64_t expected_remaining(const asked_call& c);

/// A key of a trial. One flipped bit never makes it another trial's or another call's key.
[[nodiscard]] std::string key_of(const asked_call& c, std::string_view name, int number);

/// @param handshake the number of its messages each way
[[nodiscard]] conversation allow_conversation(std::size_t handshake);
/// The same calls with ids.
[[nodiscard]] conversation id_conversation(std::size_t handshake);
[[nodiscard]] conversation seen_conversation(std::size_t handshake);
[[nodiscard]] conversation transaction_conversation();

} // namespace colimit::test

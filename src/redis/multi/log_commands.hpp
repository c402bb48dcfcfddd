// SPDX-License-Identifier: BSL-1.0
//
// The commands for the sliding logs of a call, within its MULTI. All logs of a policy share one
// sorted set per key: members are unique names, scores are microseconds.
//
//     ZREMRANGEBYSCORE   removes events older than the longest period and a grace
//     ZREVRANGE          the newest event; for each rule the one that must expire before the call
//                        fits
//     ZADD               a member for each token, all at the latest possible server time
//     ZCOUNT             for each rule, from the earliest possible server time
//     PTTL PEXPIRE
//
// Recorded first and counted afterwards, so the call that records last counts all others. Counted
// from the earliest time and recorded at the latest, so no event is removed before its period has
// passed, however uncertain the server's clock.
//
// PEXPIRE works on keys of any type. PTTL comes before it, so if the other commands reply
// WRONGTYPE, the next write restores the TTL of the foreign key. Members are run id, client id,
// counter: the first half of the run id is enough, and if INFO is not allowed the server's time of
// the handshake replaces it, as a client id is unique within a run.

#pragma once

#include <colimit/limits.hpp>
#include <core/state.hpp>
#include <redis/multi/exec_reply.hpp>
#include <redis/multi/transaction_call.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colimit::redis {

/// Returns how many events the call records.
[[nodiscard]] std::int64_t events_of(const transaction_call& c) noexcept;

/// Appends the commands. Returns their number, 0 for a policy without logs.
std::size_t append_log_commands(std::string& out, const transaction_call& c);
[[nodiscard]] std::size_t count_log_commands(const transaction_call& c) noexcept;

/// The results of the commands; times are 0 if there is no event.
struct log_results {
    std::int64_t newest = 0;
    std::array<std::int64_t, limits::max_rules_per_policy> oldest_counted{};
    std::array<std::int64_t, limits::max_rules_per_policy> oldest_afterwards{};
    std::array<std::int64_t, limits::max_rules_per_policy> counts{};
    std::int64_t ttl = -2;
    bool recorded = false;
    bool expires = false;
};

/// Reads the replies. Returns false if one is not a valid reply to its command.
[[nodiscard]] bool read_log_replies(const transaction_call& c, exec_reply& from, log_results& to);

/// Returns the state of a rule before the call, or after one that is not an `allow`.
[[nodiscard]] core::rule_state log_state(const transaction_call& c, const log_results& found,
                                         std::size_t rule) noexcept;

/// Appends the removal of the last `surplus` events of the call: one command.
void append_removal(std::string& out, const transaction_call& c, std::int64_t surplus);

/// Appends a command that restores the TTL of another program's key: milliseconds, or -1 for none.
void append_ttl(std::string& out, const transaction_call& c, std::int64_t ttl);

/// Appends the removal of all events after a time: one command.
void append_cut(std::string& out, const transaction_call& c, std::int64_t after);

} // namespace colimit::redis

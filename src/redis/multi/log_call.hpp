// SPDX-License-Identifier: BSL-1.0
//
// One call on a sliding log without a script: the commands between MULTI and EXEC, and the decision
// from the reply to EXEC.
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
// passed, however uncertain the server's clock. The events are a sorted set: members are unique
// names, scores are microseconds.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <core/compiled_policy.hpp>
#include <core/evaluate.hpp>
#include <redis/protocol/resp.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// A call to be sent.
struct log_call {
    const core::compiled_policy& rules;
    const core::call_request& request;
    std::string_view key;       ///< its name on the server
    std::int64_t earliest = 0;  ///< possible time of the server's clock
    std::int64_t latest = 0;    ///< possible time of the server's clock
    std::string_view origin;    ///< the first part of its members' names,
    std::uint64_t member = 0;   ///< and the number of the first one
    std::uint32_t members = 0;  ///< number of members that it records
    std::int64_t grace = 0;     ///< how long other calls may be in flight
    std::int64_t least_ttl = 0; ///< milliseconds
};

/// Returns the error if calls of this kind cannot be made with MULTI: `invalid_policy` or
/// `invalid_argument`, or none.
[[nodiscard]] error_code error_of_log_call(const core::compiled_policy& rules,
                                           const core::call_request& request);

/// Returns how many members the call records. A call with a cost above the limit records none or,
/// if it accepts less, as many as the limit.
[[nodiscard]] std::int64_t members_of(const core::compiled_policy& rules,
                                      const core::call_request& request) noexcept;

/// Appends the commands, without MULTI and EXEC. Returns their number.
std::size_t append_log_call(std::string& out, const log_call& call);

/// The cleanup after the reply to a call.
struct cleanup {
    /// The error of the call, if there is no decision.
    std::optional<errc> failure;
    /// The number of its members to be removed, counted from the last.
    std::uint32_t surplus = 0;
    /// The newest event that the call found; 0 if there was none.
    std::int64_t newest = 0;
    /// Set if the key belongs to another program, and its TTL must be restored: milliseconds, or -1
    /// for none.
    std::optional<std::int64_t> foreign_key_ttl;
};

/// Reads the reply to EXEC, an array. Returns nullopt if it is not a valid reply to this call.
[[nodiscard]] std::optional<cleanup> read_log_call(const log_call& call, const resp::decoder& reply,
                                                   std::string_view bytes, decision& answer);

/// Appends the removal of the last `surplus` members of a call: one command.
void append_removal(std::string& out, const log_call& call, std::uint32_t surplus);

/// Appends a command that restores the TTL of another program's key.
void append_ttl(std::string& out, std::string_view key, std::int64_t ttl);

/// Appends the removal of all events after a time: one command.
void append_cut(std::string& out, std::string_view key, std::int64_t after);

} // namespace colimit::redis

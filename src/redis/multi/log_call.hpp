// SPDX-License-Identifier: BSL-1.0
//
// One call on a sliding log without a script: the commands between MULTI and EXEC, and the decision
// from what EXEC answers.
//
//     ZREMRANGEBYSCORE   what is older than the longest period, and a grace
//     ZREVRANGE          the newest event; for each rule the one that must go before the call fits
//     ZADD               a member for each token, all at the latest time that it can be
//     ZCOUNT             for each rule, from the earliest time that it can be
//     PTTL PEXPIRE
//
// Recorded first and counted afterwards, so whoever records last knows of all others. Counted from
// the earliest time and recorded at the latest, so no event is forgotten before its period is over,
// however uncertain the server's clock. The events are a sorted set: members are names that nobody
// gives twice, scores are microseconds.

#ifndef COLIMIT_REDIS_MULTI_LOG_CALL_HPP
#define COLIMIT_REDIS_MULTI_LOG_CALL_HPP

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <core/evaluate.hpp>
#include <core/plan.hpp>
#include <redis/protocol/resp.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// A call as it is sent.
struct log_call {
    const core::plan& rules;
    const core::question& asked;
    std::string_view key;       ///< its name in the server
    std::int64_t earliest = 0;  ///< that the server's clock can be
    std::int64_t latest = 0;    ///< and what it can be at most
    std::string_view origin;    ///< the first part of its members' names,
    std::uint64_t member = 0;   ///< and the rest of the first one's
    std::uint32_t members = 0;  ///< recorded by it
    std::int64_t grace = 0;     ///< for how long others may be under way
    std::int64_t least_ttl = 0; ///< milliseconds
};

/// What a call of this kind cannot do: nothing, or `invalid_policy` or `invalid_argument`.
[[nodiscard]] error_code error_of_log_call(const core::plan& rules, const core::question& asked);

/// How many members it records. A call that asks for more than the limit records none or, where
/// less is enough for it, as many as the limit.
[[nodiscard]] std::int64_t members_of(const core::plan& rules,
                                      const core::question& asked) noexcept;

/// Appends the commands, without MULTI and EXEC. Answers how many they are.
std::size_t append_log_call(std::string& out, const log_call& call);

/// What is left to do when a call has been answered.
struct aftermath {
    /// Of the call, if there is no decision.
    std::optional<errc> failure;
    /// How many of its members are to be removed, from the last.
    std::uint32_t surplus = 0;
    /// The newest event that the call found; 0 if there was none.
    std::int64_t newest = 0;
    /// The key was not ours, and its time to live is to be set to what it was: milliseconds, or -1
    /// for none.
    std::optional<std::int64_t> ttl_of_stranger;
};

/// Reads what EXEC answered: an array. Nothing when it is not an answer to this call.
[[nodiscard]] std::optional<aftermath> read_log_call(const log_call& call,
                                                     const resp::decoder& reply,
                                                     std::string_view bytes, decision& answer);

/// Appends the removal of the last `surplus` members of a call: one command.
void append_removal(std::string& out, const log_call& call, std::uint32_t surplus);

/// Appends a command that gives a stranger's key back its time to live.
void append_ttl(std::string& out, std::string_view key, std::int64_t ttl);

/// Appends the removal of all events after a time: one command.
void append_cut(std::string& out, std::string_view key, std::int64_t after);

} // namespace colimit::redis

#endif

// SPDX-License-Identifier: BSL-1.0
//
// One call without a script: the commands between MULTI and EXEC, the decision from the reply to
// EXEC, and the commands that follow it. All rules of the policy are in one MULTI, each with its
// own commands: log_commands.hpp, window_commands.hpp.

#pragma once

#include <colimit/decision.hpp>
#include <colimit/error.hpp>
#include <redis/multi/transaction_call.hpp>
#include <redis/multi/window_commands.hpp>
#include <redis/protocol/resp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Returns the error if calls of this kind cannot be made with MULTI: `invalid_policy` or
/// `invalid_argument`, or none.
[[nodiscard]] error_code error_of_transaction(const detail::policy_data& policy,
                                              const core::call_request& request);

/// Returns how many tokens the call adds before it is decided. A call with a cost above the limit
/// adds none or, if it accepts less, as many as the limit.
[[nodiscard]] std::int64_t tokens_of(const core::compiled_policy& rules,
                                     const core::call_request& request) noexcept;

/// Appends the commands, without MULTI and EXEC. Returns their number.
std::size_t append_transaction(std::string& out, const transaction_call& c);

/// The cleanup after the reply to a call.
struct cleanup {
    /// The error of the call, if there is no decision.
    std::optional<errc> failure;
    /// The number of its events to be removed, counted from the last.
    std::int64_t surplus_events = 0;
    /// The newest event that the call found; 0 if there was none.
    std::int64_t newest = 0;
    /// Set if the log's key belongs to another program, and its TTL must be restored: milliseconds,
    /// or -1 for none.
    std::optional<std::int64_t> foreign_key_ttl;
    /// The tokens that each of the windows gives back, if the call added any.
    std::int64_t surplus_tokens = 0;
    std::array<window_result, limits::max_rules_per_policy> windows{};
};

/// Reads the reply to EXEC, an array. Returns nullopt if it is not a valid reply to this call.
[[nodiscard]] std::optional<cleanup> read_transaction(const transaction_call& c,
                                                      const resp::decoder& reply,
                                                      std::string_view bytes, decision& answer);

/// Append the commands of the cleanup. Return the number of their replies.
/// @param now the server's time, or a later one if it is not known
/// @param latest possible time of the server's clock when it executed the call
std::size_t append_log_cleanup(std::string& out, const transaction_call& c, const cleanup& after,
                               std::int64_t now);
std::size_t append_window_cleanup(std::string& out, const transaction_call& c, const cleanup& after,
                                  std::int64_t latest);

} // namespace colimit::redis

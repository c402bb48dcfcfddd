// SPDX-License-Identifier: BSL-1.0
//
// The commands for a fixed window of a call, within its MULTI. The count is a string, a decimal
// number, and its TTL is the rest of the window, so the server ends the window by itself.
//
//     SET key 0 PX period NX      starts a window that begins with its first charge
//     SET key 0 PXAT end NX       starts one that ends at a multiple of the period
//     INCRBY key tokens           GET key, if the call adds nothing
//     PTTL key
//
// Added first and compared afterwards, so of several calls the one that adds last counts all
// others. A denied call gives back what it added.
//
// A key never exists without TTL, as the same MULTI starts the window and adds to it, and time
// stands still during EXEC. An end at which the server has arrived before it executes the command
// starts nothing, so an aligned window has several candidates, the earliest first: the first one
// that is in the future becomes the end. If the call was in flight for so long that none is, the
// last command starts a full window of a millisecond, which denies the call.
//
// An aligned window ends at a multiple of the period according to the server's clock, which a
// client knows only as an interval. PXAT with a time that has passed starts nothing, and INCRBY
// would then make a key that stays forever. So the command for the end of the window of the
// earliest possible time is followed by one for the next window, if a call may be in flight for so
// long (`config::timeout`). There is no room for an end of each period, so a call that comes more
// than a period late may start a window of several periods.
//
// Redis keeps a key until the millisecond after its expiry time. So that of an aligned window is
// the last millisecond before its end, and a window that begins with its first charge lasts up to a
// millisecond longer than the period, which `retry_after` adds. A TTL that is missing or too long
// is replaced in the next write: an aligned window then ends with the period of the latest possible
// time, which its call was in. If it ended in the middle of a period, that period could have the
// limit twice. For the same reason the command is sent like tokens that are given back: one that
// comes late changes no later window.
//
// A refund is refused: it stops at an empty window, and MULTI has no maximum, so DECRBY might leave
// a negative number, which would admit more than the limit.

#pragma once

#include <core/state.hpp>
#include <redis/multi/exec_reply.hpp>
#include <redis/multi/transaction_call.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace colimit::redis {

[[nodiscard]] bool is_fixed_window(const core::compiled_rule& l) noexcept;

/// Appends the commands for rule `rule`. Returns their number.
std::size_t append_window_commands(std::string& out, const transaction_call& c, std::size_t rule);
[[nodiscard]] std::size_t count_window_commands(const transaction_call& c,
                                                std::size_t rule) noexcept;

/// The results of the commands.
struct window_result {
    std::int64_t used = 0; ///< before the call
    std::int64_t ttl = 0;  ///< milliseconds; if it is wrong, the longest that it may be
    bool added = false;    ///< the call's tokens
    /// The key has no TTL, or one longer than the period: another program wrote it, the server's
    /// clock was set back, the period was longer, or the call that started the window came more
    /// than a window late.
    bool is_ttl_wrong = false;
};

/// Reads the replies. Returns false if one is not a valid reply to its command.
[[nodiscard]] bool read_window_replies(const transaction_call& c, std::size_t rule,
                                       exec_reply& from, window_result& to);

/// Returns the state of a rule before the call.
[[nodiscard]] core::rule_state window_state(const transaction_call& c, const window_result& found,
                                            std::size_t rule) noexcept;

/// Appends the subtraction of `surplus` tokens that the call added, unless the window has ended:
/// see window_commands.cpp. Returns the number of replies.
std::size_t append_give_back(std::string& out, const transaction_call& c,
                             const window_result& found, std::size_t rule, std::int64_t surplus);

/// Appends the commands that replace a wrong TTL: an aligned window ends at a multiple of its
/// period. Returns the number of replies.
/// @param latest possible time of the server's clock when it executed the call
std::size_t append_right_ttl(std::string& out, const transaction_call& c,
                             const window_result& found, std::size_t rule, std::int64_t latest);

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// Error replies of the server: whether the command was executed, the error for its callers, and the
// recovery of the connection.

#pragma once

#include <colimit/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// The recovery after an error reply, besides ending the calls.
enum class recovery : std::uint8_t {
    /// None: the connection continues.
    keep,
    /// The connection continues, but the server executes no calls for now: it is busy.
    server_busy,
    /// The server has forgotten the script and executed nothing: send the batch again with the
    /// script's text.
    resend_with_script,
    /// The connection cannot be used any more: close it and connect again.
    reconnect,
    /// As `reconnect`: the server is read-only, and another one may be at its address soon.
    leave_read_only,
    /// As `reconnect`, after the replies that the server owes: it has executed nothing, as it lacks
    /// the function library. The next handshake reports that, if it is still so.
    leave_unloaded,
    /// As `reconnect`, but after a longer pause: the server is full or rejects this client.
    reconnect_late,
};

struct reply_error {
    errc code;
    redis::recovery recovery;
};

/// @param text the error line without its mark, such as `NOSCRIPT No matching script.`
[[nodiscard]] reply_error classify(std::string_view text) noexcept;

/// Returns what to say of a server without the function library, before its reply.
[[nodiscard]] std::string missing_library();

/// Returns whether a node of a cluster has executed nothing, as another one serves, or may serve,
/// the keys, or as they cannot be served now.
[[nodiscard]] bool is_about_node(std::string_view text) noexcept;

/// Returns whether a script used a key that its node does not have: on a cluster, as the slot is
/// being moved, and the script has removed the key before.
[[nodiscard]] bool is_about_key_elsewhere(std::string_view text) noexcept;

/// Returns whether EXEC was refused because of errors that the server has replied before.
[[nodiscard]] bool follows_from_errors(std::string_view text) noexcept;

/// Returns whether the user may run the command, but not access one of its keys.
[[nodiscard]] bool is_key_denial(std::string_view text) noexcept;

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// Error replies of the server: whether the command ran, what its callers are told, and what becomes
// of the connection.

#ifndef COLIMIT_REDIS_PROTOCOL_REPLY_ERROR_HPP
#define COLIMIT_REDIS_PROTOCOL_REPLY_ERROR_HPP

#include <colimit/error.hpp>

#include <cstdint>
#include <string_view>

namespace colimit::redis {

/// What to do after an error reply, besides telling the callers.
enum class remedy : std::uint8_t {
    /// Nothing: the connection goes on.
    keep,
    /// The connection goes on, but the server serves nobody for now: it is busy with itself.
    hold_off,
    /// The server forgot the script and ran nothing: send the batch again with the script's text.
    resend_with_script,
    /// This connection is of no more use: close it and connect again.
    reconnect,
    /// As `reconnect`: the server is read-only, and another one may be at its address soon.
    leave_read_only,
    /// As `reconnect`, but after a longer pause: the server is full or refuses us.
    reconnect_late,
};

struct reply_error {
    errc code;
    redis::remedy remedy;
};

/// @param text the error line without its mark, such as `NOSCRIPT No matching script.`
[[nodiscard]] reply_error classify(std::string_view text) noexcept;

/// Whether the user may run the command, but not access a key of it.
[[nodiscard]] bool is_key_denial(std::string_view text) noexcept;

} // namespace colimit::redis

#endif

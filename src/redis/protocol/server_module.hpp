// SPDX-License-Identifier: BSL-1.0
//
// The question whether a server has the module, and the replies to it: `COLIMIT.CHECK 0` replies
// with `colimit`, the wire version and the version of the module.

#pragma once

#include <redis/protocol/resp.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// What a server has replied to the question.
enum class module_state : std::uint8_t {
    usable,       ///< its wire version is that of this library
    absent,       ///< the server does not know the command
    denied,       ///< the user may not run it
    incompatible, ///< it has another wire version
    withheld,     ///< it is there, but the server refuses all writes at present
    unknown,      ///< the server runs no commands at present, or none of this client
};

void append_module_question(std::string& out);

/// Returns what the reply says.
/// @param bytes begin with the complete reply
[[nodiscard]] module_state read_module_state(const resp::decoder& reply, std::string_view bytes);

/// Returns the message about a module that is `incompatible`, from the reply.
[[nodiscard]] std::string incompatible_module(const resp::decoder& reply, std::string_view bytes);

/// Returns whether the server has not executed a command of the module for this error, as it does
/// not know the command.
[[nodiscard]] bool is_module_missing(std::string_view error) noexcept;

/// Returns whether the server has not executed a command for this error, as the user may not run
/// the command, whatever its keys.
[[nodiscard]] bool is_command_denial(std::string_view error) noexcept;

} // namespace colimit::redis

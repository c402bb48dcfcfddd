// SPDX-License-Identifier: BSL-1.0
//
// Commands for the module, valid ones and such as no client would send, and commands that plant
// foreign values in its keys. All are about a few keys, so that they meet each other.

#pragma once

#include <server_module/choices.hpp>

#include <string>
#include <vector>

namespace colimit::test {

using words = std::vector<std::string>;

/// Returns a command of the module, or one that changes one of its keys.
[[nodiscard]] words hostile_command(choices& from);

/// Returns a COLIMIT.CHECK or COLIMIT.SEEN as a client may send it, except for single arguments.
[[nodiscard]] words script_command(choices& from);

/// Returns one of the commands of the module, often with changes that make it invalid.
[[nodiscard]] words module_command(choices& from);

/// Returns commands that plant a value, or that change or delete one. The key expires.
[[nodiscard]] words foreign_command(choices& from);

} // namespace colimit::test

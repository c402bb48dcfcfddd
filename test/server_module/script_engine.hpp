// SPDX-License-Identifier: BSL-1.0
//
// Runs the scripts of lua/ in Lua 5.1 on the keys of a fake server, as servers do: their libraries,
// their conversion of replies, and which commands they refuse. The time stands still meanwhile.

#pragma once

#include <server_module/fake_server.hpp>

#include <redis/protocol/script.hpp>

#include <string>

namespace colimit::test::fake {

/// Returns the bytes of the reply to EVALSHA; `on.propagated` has the commands that have written.
/// @param arguments the number of keys, the keys and the other arguments
[[nodiscard]] std::string run_script(server& on, const redis::script& what, const words& arguments);

} // namespace colimit::test::fake

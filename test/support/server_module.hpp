// SPDX-License-Identifier: BSL-1.0
//
// The server module of this build, and another one of an incompatible version, as an administrator
// loads them.

#pragma once

#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <string>
#include <vector>

namespace colimit::test {

/// Returns the arguments of a redis-server that may be given the module while it runs.
[[nodiscard]] std::vector<std::string> accepting_modules();

/// Returns those of one that has it from the start.
[[nodiscard]] std::vector<std::string> with_server_module();

void load_server_module(raw_client& server);
void unload_server_module(raw_client& server);

/// Loads a module whose commands have the same names, and another wire version. It executes none of
/// them.
void load_incompatible_module(raw_client& server);

} // namespace colimit::test

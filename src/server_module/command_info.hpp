// SPDX-License-Identifier: BSL-1.0
//
// The commands of the module, as the server is told about them.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module {

/// Creates all commands. Returns false, after a line in the log, if the server refuses one.
[[nodiscard]] bool create_commands(api::context* where);

} // namespace colimit::server_module

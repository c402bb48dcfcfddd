// SPDX-License-Identifier: BSL-1.0
//
// COLIMIT.SEEN: the script lua/seen as a command. With the same keys and arguments it makes the
// same changes and returns the same reply.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module {

inline constexpr const char* seen_name = "colimit.seen";

/// COLIMIT.SEEN numkeys key... arg...
int seen_command(api::context* where, api::string** words, int count) noexcept;

} // namespace colimit::server_module

// SPDX-License-Identifier: BSL-1.0
//
// COLIMIT.CHECK: the script lua/check as a command. With the same keys and arguments it makes the
// same changes and returns the same reply.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module {

inline constexpr const char* check_name = "colimit.check";

/// COLIMIT.CHECK numkeys key... arg...; with `0` and nothing else it says which module this is.
int check_command(api::context* where, api::string** words, int count) noexcept;

} // namespace colimit::server_module

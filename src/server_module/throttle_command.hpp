// SPDX-License-Identifier: BSL-1.0
//
// CL.THROTTLE, the command of redis-cell: clients of that module need no change.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module {

inline constexpr const char* throttle_name = "cl.throttle";

/// CL.THROTTLE key max_burst count period [quantity]; the period in seconds, or as COLIMIT.ALLOW
/// takes it.
int throttle_command(api::context* where, api::string** words, int count) noexcept;

} // namespace colimit::server_module

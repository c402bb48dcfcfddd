// SPDX-License-Identifier: BSL-1.0
//
// COLIMIT.ALLOW: one check per command, for clients in any language.

#pragma once

#include <server_module/api.hpp>

namespace colimit::server_module {

inline constexpr const char* allow_name = "colimit.allow";

/// COLIMIT.ALLOW key burst count period [cost]: at most `burst` at once, and `count` per period,
/// which is a number with a unit (us, ms, s, m, h, d) or without one, in seconds.
int allow_command(api::context* where, api::string** words, int count) noexcept;

} // namespace colimit::server_module

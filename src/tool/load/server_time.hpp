// SPDX-License-Identifier: BSL-1.0
//
// The processor time that servers have used, which INFO reports.

#pragma once

#include <colimit/config.hpp>

#include <optional>

namespace tool::load {

/// Returns the seconds of all servers with keys; nullopt for `memory:`, or if a server does not
/// tell, such as one that denies INFO to the user.
/// @throws interrupted
[[nodiscard]] std::optional<double> server_seconds(const colimit::config& settings);

} // namespace tool::load

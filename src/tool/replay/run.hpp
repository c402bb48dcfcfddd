// SPDX-License-Identifier: BSL-1.0
//
// The replay itself: every request goes through the limiter, with the log's time as its clock.

#pragma once

#include <tool/replay/history.hpp>
#include <tool/replay/limits.hpp>
#include <tool/replay/progress.hpp>
#include <tool/replay/statistics.hpp>

#include <string>
#include <vector>

namespace tool::replay {

/// Returns the decisions for all requests, in their order. It always resets the keys that it used;
/// a second signal ends it at once, and then the keys expire by themselves.
/// @throws colimit::error for a bad address, std::runtime_error with one sentence when the server
/// fails, interrupted
[[nodiscard]] std::vector<verdict> run(const history& log, const limits& tried,
                                       const std::string& server, progress& shown);

} // namespace tool::replay

// SPDX-License-Identifier: BSL-1.0
//
// The replay itself: every request goes through the limiter, with the log's time as its clock.

#pragma once

#include "replay/history.hpp"
#include "replay/progress.hpp"
#include "replay/statistics.hpp"

#include <colimit/policy.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace replay {

/// Thrown after Ctrl-C or a signal of the system.
struct interrupted : std::runtime_error {
    explicit interrupted(int number)
        : std::runtime_error("interrupted; nothing is left on the server"), signal(number) {}
    int signal;
};

/// Returns the decisions for all requests, in their order. It always resets the keys that it used;
/// a second signal ends it at once, and then the keys expire within an hour.
/// @throws colimit::error for a bad address, boost::system::system_error or std::runtime_error when
/// the server fails, interrupted
[[nodiscard]] std::vector<verdict> run(const history& log, const colimit::policy& policy,
                                       const std::string& server, progress& shown);

} // namespace replay

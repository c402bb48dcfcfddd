// SPDX-License-Identifier: BSL-1.0
//
// Runs a coroutine with a limiter until it ends or a signal comes.

#pragma once

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <string>

namespace tool {

using limiter_work = std::function<boost::asio::awaitable<void>(colimit::limiter&)>;

/// Runs `work(limiter)` in a context of its own. SIGINT, SIGTERM and SIGHUP close the limiter.
/// @throws interrupted after a signal; std::runtime_error with one sentence that names the server
/// and its problem if a call fails; what `work` throws otherwise
void with_limiter(const colimit::config& settings, const limiter_work& work);

/// Returns a sentence that names the server and the problem, with the server's own words.
/// @param server without its secrets
[[nodiscard]] std::string problem_text(const colimit::error_code& ec,
                                       const colimit::limiter& limiter, const std::string& server);

/// Returns ` (connect: Connection refused)`, the last problem of the connection; empty if none.
[[nodiscard]] std::string last_problem_text(const colimit::limiter& limiter);

} // namespace tool

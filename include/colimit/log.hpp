// SPDX-License-Identifier: BSL-1.0
//
// The log of a limiter: lines that show each step of its connections, to find out why one is not
// made. Events (`config::on_event`) and `limiter::last_error` are for programs; this is for people.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace colimit {

/// How much is logged: each level includes those before it.
enum class log_level : std::uint8_t {
    warning, ///< problems, as `limiter::last_error` returns them; a repeated one only once
    info,    ///< connections that are ready or lost, circuit breakers, masters and maps
    debug,   ///< every step of connecting and of the handshake, and every batch
};

/// Returns `warning`, `info` or `debug`.
[[nodiscard]] std::string_view to_string(log_level l) noexcept;

/// The log of a limiter. `memory:` has nothing to log.
struct log_options {
    /// The most detailed level that is logged.
    log_level level = log_level::info;
    /// Called for each line; empty by default, which costs nothing. A line is printable ASCII
    /// (other bytes are escaped as `\xNN`) without an end of line. It names servers and may contain
    /// names of keys, as problems do, never passwords.
    ///
    /// It is called at once, by the thread that does the work, and perhaps under the limiter's
    /// lock; for all limiters of the process, never by two threads at once. So it must not block or
    /// call a limiter; an exception that it throws is ignored, and the line is lost, as it is if
    /// memory runs out.
    std::function<void(log_level level, std::string_view line)> write{};
};

} // namespace colimit

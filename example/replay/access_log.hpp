// SPDX-License-Identifier: BSL-1.0
//
// One line of an access log, in the common or the combined format:
//
//     192.0.2.7 - anna [17/May/2015:10:05:03 +0200] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0"
//     ^ client          ^ time                      ^ ignored
//
// Only two parts matter for a limit, and these are parsed strictly: a guess would charge the wrong
// client. The rest of the line comes from clients, and is ignored.

#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace replay {

struct log_line {
    std::string_view client; ///< points into the text that was read
    std::chrono::sys_seconds time;
};

/// A parsed line, or the reason why it could not be parsed.
struct log_reading {
    std::optional<log_line> line;
    std::string_view problem;
};

[[nodiscard]] log_reading read_log_line(std::string_view text) noexcept;

} // namespace replay

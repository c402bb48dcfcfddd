// SPDX-License-Identifier: BSL-1.0
//
// One line of an access log, in the common or the combined format:
//
//     192.0.2.7 - anna [17/May/2015:10:05:03 +0200] "GET / HTTP/1.1" 200 512 "-" "Mozilla/5.0"
//     ^ client    ^ user  ^ time                     ^ method and target       ^ ignored
//
// Client and time are parsed strictly: a guess would charge the wrong client. So nothing may stand
// in front of the client, such as a virtual host, a time or the name of a container: after the
// client comes the `-` of the identity that no server asks for. The request, which only routes
// need, comes from clients and may be any text.

#pragma once

#include <colimit/decision.hpp>

#include <optional>
#include <string_view>

namespace tool::replay {

/// Its texts point into the one that was read.
struct log_line {
    std::string_view client;
    colimit::time_point time;
    std::string_view user{}; ///< empty: none
    std::string_view method{};
    std::string_view target{}; ///< empty if the request is not of the form `METHOD TARGET ...`
};

/// A parsed line, or the reason why it could not be parsed.
struct log_reading {
    std::optional<log_line> line;
    std::string_view problem;
};

[[nodiscard]] log_reading read_log_line(std::string_view text) noexcept;

} // namespace tool::replay

// SPDX-License-Identifier: BSL-1.0
//
// Hosts as the nodes of a cluster announce them: in maps and in redirections.

#pragma once

#include <string_view>

namespace colimit::redis {

/// Returns whether a node does not know a host under which clients reach it. The client then uses
/// the host of the node that sent the map or the redirection, with the port that is named.
[[nodiscard]] constexpr bool is_unknown_host(std::string_view host) noexcept {
    return host.empty() || host == "?";
}

} // namespace colimit::redis

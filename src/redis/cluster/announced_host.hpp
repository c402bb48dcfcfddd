// SPDX-License-Identifier: BSL-1.0
//
// Hosts as the nodes of a cluster announce them: in maps and in redirections. Two of them are not
// addresses:
//
//   empty    the host of the node that sent this, with the port that is named; null means the same
//   ?        a node without the host name by which the cluster prefers to be reached: since Redis
//            7, a map has its IP address in the facts that follow its id; redirections have not

#pragma once

#include <string_view>

namespace colimit::redis {

/// Returns whether a node has no host name, although the cluster prefers host names.
[[nodiscard]] constexpr bool is_nameless(std::string_view host) noexcept {
    return host == "?";
}

} // namespace colimit::redis

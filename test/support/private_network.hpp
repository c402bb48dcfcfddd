// SPDX-License-Identifier: BSL-1.0
//
// A network of the test's own, in which it can cut servers off. All of 127.0.0.0/8 is there, and
// nothing else. Unix sockets are reached as before, also those of servers that are cut off.
//
//     if (const auto problem = enter_private_network(); !problem.empty())
//         ... // this machine does not allow it
//     auto servers = redis_cluster{{.own_hosts = true}};
//     {
//         partition cut{{servers.host(0)}, {servers.host(1), servers.host(2)}};
//         ... // packets between them are dropped
//     }

#pragma once

#include <string>
#include <vector>

namespace colimit::test {

/// Moves this process, and those that it starts from now on, into a network namespace. It must not
/// have started a thread. Returns an empty text, or why this machine has no namespaces or no
/// nftables; then partitions cannot be made, but servers run as they do elsewhere.
[[nodiscard]] std::string enter_private_network();

/// Processes whose effective group is this one are on the first side of each partition; all others
/// at 127.0.0.1 are on the second.
inline constexpr int first_side_group = 4'242;

/// Two sides that cannot reach each other, for as long as the object exists. Packets are dropped
/// without a reply.
class partition {
  public:
    /// @throws std::runtime_error if nft fails
    partition(const std::vector<std::string>& first, const std::vector<std::string>& second);
    ~partition();
    partition(const partition&) = delete;
    partition& operator=(const partition&) = delete;
};

} // namespace colimit::test

// SPDX-License-Identifier: BSL-1.0
//
// Reads the reply of CLUSTER SLOTS, an array with an element for each range of slots:
//
//   first slot, last slot, master, replica...     a node: host, port, id, further facts
//
// A reply may be complete and yet not be a map: the result says why, and the connection continues.
// A node without an address, or with one that no client can use, does not make a map useless: one
// that was made anew on an empty disk stays in the maps of the others, with port 0, until CLUSTER
// FORGET. It is left out; if it is a master, its slots have no owner in this map. Only if all
// masters are such nodes there is no map.
// CLUSTER SLOTS has no version; see `map_refresh.hpp` for maps that are out of date.

#pragma once

#include <redis/cluster/slot_map.hpp>
#include <redis/protocol/resp.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

/// The bounds for a decoder of maps. One in which each slot is a range of its own, with three nodes
/// each, has 300,000 values in some megabytes: unusual, but valid.
inline constexpr resp::reply_bounds map_bounds{.nodes = 1'000'000, .bytes = 32'000'000};

/// The largest number of replicas in a map: as many as there can be masters. Clusters of more than
/// two thousand nodes are not known to work.
inline constexpr std::size_t most_replicas = hash_slot_count;

struct slot_map_result {
    std::optional<slot_map> map = {};
    std::vector<std::string> ids = {}; ///< of the nodes in the map, as far as it has them; sorted
    std::string problem = {};          ///< why there is no map
    bool is_refused = false; ///< the server replied with an error, whose text is the problem
};

/// Reads a complete reply. Memory grows with its ranges and different nodes.
/// @param bytes begin with the reply
/// @param asked_host the host of the node that was asked; of nodes whose own is not named, too
[[nodiscard]] slot_map_result read_slot_map(const resp::decoder& reply, std::string_view bytes,
                                            std::string_view asked_host);

} // namespace colimit::redis

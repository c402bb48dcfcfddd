// SPDX-License-Identifier: BSL-1.0
//
// Reads the reply of CLUSTER SLOTS, an array with an element for each range of slots:
//
//   first slot, last slot, master, replica...     a node: host, port, id, further facts
//
// A map in which each slot is a range of its own, with three nodes each, has 300,000 values in some
// megabytes: more than a decoder usually takes as one reply (16,384 and 1 MiB, which two-node
// ranges reach at 1,260 of them). Such maps are unusual, but valid. So the reply is read range by
// range, each of which is a value for the decoder, and the caller needs to buffer no more than one
// of them:
//
//     on_bytes:  buffer.append(received)
//                state = reader.feed(buffer)
//                buffer.erase(0, reader.consumed())
//
// The bounds are those of a cluster: 16,384 ranges and as many replicas; and those of the decoder
// for each range, which has room for 1,800 nodes. Memory grows with the ranges and different nodes.
//
// A reply may be complete and yet not be a map: the result says why, and the connection continues.
// CLUSTER SLOTS has no version; see `map_refresh.hpp` for maps that are out of date.

#pragma once

#include <redis/cluster/slot_map.hpp>
#include <redis/protocol/resp.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::redis {

struct slot_map_result {
    std::optional<slot_map> map;
    std::string problem;     ///< why there is no map
    bool is_refused = false; ///< the server replied with an error, whose text is the problem
};

class slot_map_reader {
  public:
    /// As many replicas as there can be masters. Clusters of more than two thousand nodes are not
    /// known to work.
    static constexpr std::size_t most_replicas = slot_count;

    /// @param asked_host the host of the node that was asked; of nodes whose own is unknown, too
    explicit slot_map_reader(std::string_view asked_host) : asked_host_(asked_host) {}

    /// Reads from `bytes`, which begin where the last call has stopped (its bytes again from
    /// `consumed()` on, and what has arrived since). Messages that are not a reply, RESP3's push,
    /// are the caller's. After `malformed` the connection cannot be used any more.
    resp::progress feed(std::string_view bytes);

    /// Returns the number of bytes that the last call has read to their end.
    [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }

    /// Returns the result, once, after `complete` or `malformed`.
    [[nodiscard]] slot_map_result take();

  private:
    using nodes = std::span<const resp::node>;

    bool read_header(std::string_view bytes);
    void read_other(std::string_view bytes);
    void read_range(nodes values, std::string_view bytes);
    bool read_slots(nodes values, std::uint16_t& first, std::uint16_t& last);
    std::optional<host_port> read_node(nodes values, std::string_view bytes);
    bool add_slots(std::uint16_t first, std::uint16_t last, host_port master);
    bool add_replica(host_port replica);
    bool fail(std::string_view what);
    void end_malformed(std::string_view what);

    std::string asked_host_;
    resp::decoder decoder_;
    resp::progress state_ = resp::progress::need_more;
    std::size_t consumed_ = 0;
    bool has_header_ = false;
    std::size_t range_count_ = 0;
    std::size_t ranges_read_ = 0;
    std::map<host_port, std::uint16_t> masters_; ///< with their indices
    std::set<host_port> replicas_;
    std::vector<slot_map::range> ranges_;
    std::bitset<slot_count> owned_;
    std::string problem_;
    bool is_refused_ = false;
};

/// Reads a reply that the decoder has read as a whole.
/// @param bytes begin with the complete reply
[[nodiscard]] slot_map_result read_slot_map(const resp::decoder& reply, std::string_view bytes,
                                            std::string_view asked_host);

} // namespace colimit::redis

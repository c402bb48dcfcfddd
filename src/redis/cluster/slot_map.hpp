// SPDX-License-Identifier: BSL-1.0
//
// The map of a cluster: which master serves which hash slot. It is kept as ranges of consecutive
// slots with one master, in their order, so a cluster of a few masters has a few ranges of six
// bytes, and one in which each slot is a range of its own has 96 KiB:
//
//   0-5460 -> master 0, 5461-10922 -> master 2, 10923-16383 -> master 1
//
// A map has one representation: ranges and addresses are sorted, neighbouring ranges of one master
// are one range, and a master has at least one slot. So `==` says whether anything has changed.

#pragma once

#include <redis/connection/address.hpp>
#include <redis/protocol/hash_slot.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace colimit::redis {

class slot_map {
  public:
    /// Consecutive slots of one master.
    struct range {
        std::uint16_t first;
        std::uint16_t last;   ///< at least `first`, below `hash_slot_count`
        std::uint16_t master; ///< its index

        friend bool operator==(const range&, const range&) = default;
    };

    /// Makes a map in which no slot has an owner.
    slot_map() = default;

    /// @param masters no two of them are equal; those without a slot are dropped
    /// @param replicas in any order; those that are masters, or named before, are dropped
    /// @param ranges in any order; they do not overlap, and each has the index of one of `masters`
    slot_map(std::vector<host_port> masters, std::vector<host_port> replicas,
             std::vector<range> ranges);

    /// Returns the index in `masters()` of the owner of a slot; nullopt if it has none.
    [[nodiscard]] std::optional<std::size_t> master_of(std::uint16_t slot) const noexcept;

    /// Returns the owner of a slot, or nullptr. Valid until the map changes.
    [[nodiscard]] const host_port* owner(std::uint16_t slot) const noexcept {
        const auto index = master_of(slot);
        return index ? &masters_[*index] : nullptr;
    }

    /// Returns the nodes that serve slots, sorted.
    [[nodiscard]] std::span<const host_port> masters() const noexcept { return masters_; }

    /// Returns the other nodes, sorted: they know the map, too.
    [[nodiscard]] std::span<const host_port> replicas() const noexcept { return replicas_; }

    [[nodiscard]] std::span<const range> ranges() const noexcept { return ranges_; }

    /// Assigns one slot to another node, as a reply of MOVED demands; returns whether it had
    /// another owner, or none. A master that has lost its last slot is dropped, so that not even a
    /// hostile server can make the map grow without bound.
    bool apply_moved(std::uint16_t slot, const host_port& to);

    /// Gives the slots that have no owner to those that own them in another map. Returns whether
    /// there were any.
    bool fill_gaps(const slot_map& from);

    friend bool operator==(const slot_map&, const slot_map&) = default;

  private:
    std::vector<host_port> masters_;
    std::vector<host_port> replicas_;
    std::vector<range> ranges_;
};

} // namespace colimit::redis

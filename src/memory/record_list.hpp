// SPDX-License-Identifier: BSL-1.0
//
// The records of calls with ids, from the oldest to the newest. All are kept for the same time, so
// the oldest one expires first, and room for a new one is found at once. Their links are in their
// first cells: `capacity` is those of the neighbours.
//
// A record has what the decision was made from, so it is computed again by the same function, and
// the record has no format of its own and counts against the store's size. Its room is taken before
// the call is decided, so a call that has charged something is always remembered. Records take at
// most half of the cells, or a client with many ids would force all new keys into shared states. A
// refused call is better than a forgotten one: the caller knows that nothing was charged.

#pragma once

#include <memory/cell.hpp>
#include <memory/index.hpp>
#include <memory/slab.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace colimit::memory {

class record_list {
  public:
    /// @param ttl in microseconds
    record_list(slab& cells, std::int64_t ttl) noexcept : cells_(cells), ttl_(ttl) {}

    [[nodiscard]] std::uint32_t oldest() const noexcept { return oldest_; }

    /// Adds a record, which expires after the TTL.
    void append(std::uint32_t head, std::int64_t now) noexcept {
        cells_[head].recovered_at = now + ttl_;
        set_links(head, {newest_, no_cell});
        if (newest_ == no_cell)
            oldest_ = head;
        else
            set_links(newest_, {links(newest_).older, head});
        newest_ = head;
    }
    void remove(std::uint32_t head) noexcept {
        const auto [older, newer] = links(head);
        if (older == no_cell)
            oldest_ = newer;
        else
            set_links(older, {links(older).older, newer});
        if (newer == no_cell)
            newest_ = older;
        else
            set_links(newer, {older, links(newer).newer});
    }

    /// Sets the time of a call. If the clock was set back by more than a second, records are kept
    /// for the TTL from now on; after an earlier, smaller step some stay for up to a second more.
    void set_time(std::int64_t now) noexcept {
        if (now < time_ - second)
            for (auto i = newest_; i != no_cell && cells_[i].recovered_at > now + ttl_;
                 i = links(i).older)
                cells_[i].recovered_at = now + ttl_;
        time_ = now;
    }

  private:
    static constexpr std::int64_t second = 1'000'000;

    struct neighbours {
        std::uint32_t older;
        std::uint32_t newer;
    };

    [[nodiscard]] neighbours links(std::uint32_t head) const noexcept {
        return std::bit_cast<neighbours>(cells_[head].state.capacity);
    }
    void set_links(std::uint32_t head, neighbours to) noexcept {
        cells_[head].state.capacity = std::bit_cast<std::int64_t>(to);
    }

    slab& cells_;
    std::int64_t ttl_;
    std::int64_t time_ = 0;
    std::uint32_t oldest_ = no_cell;
    std::uint32_t newest_ = no_cell;
};

} // namespace colimit::memory

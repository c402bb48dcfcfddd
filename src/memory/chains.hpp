// SPDX-License-Identifier: BSL-1.0
//
// The keys of the in-process store: finds, reads, writes and evicts their chains of cells.
//
//     digest --index--> cell --> cell --> ...
//                        |
//                        '--> a log, a sketch
//
// Nothing runs in the background. A call that needs room looks at the next cells behind a clock
// hand and evicts those chains whose state has fully recovered, which is equivalent to no state.
//
// If the clock was set back, states are in the future. A search for room moves those that it finds
// to the current time, in whole seconds, so that their cells become free even if the clock stays
// back.

#pragma once

#include <core/compiled_policy.hpp>
#include <core/evaluate.hpp>
#include <core/request_record.hpp>
#include <hash/siphash.hpp>
#include <memory/cell.hpp>
#include <memory/index.hpp>
#include <memory/record_list.hpp>
#include <memory/slab.hpp>

#include <cstddef>
#include <cstdint>

namespace colimit::memory {

class chains {
  public:
    /// @param capacity in cells
    /// @param record_ttl how long records are kept, in microseconds
    chains(std::size_t capacity, std::int64_t record_ttl)
        : index_(capacity), cells_(capacity), records_(cells_, record_ttl) {}
    chains(const chains&) = delete;
    chains& operator=(const chains&) = delete;
    ~chains();

    /// Returns the chain that the digest most likely has, or none, and prefetches its first cell.
    [[nodiscard]] std::uint32_t seek(const hash::digest& id) const noexcept {
        const auto likely = index_.find(id, [](std::uint32_t) { return true; });
        if (likely != no_cell)
            __builtin_prefetch(&cells_[likely]);
        return likely;
    }
    /// Returns the first cell of the digest's chain, or none. `likely` is the result of `seek`.
    [[nodiscard]] std::uint32_t find(const hash::digest& id, std::uint32_t likely) const noexcept {
        const auto is_it = [&](std::uint32_t i) { return cells_[i].id == id; };
        return likely == no_cell || is_it(likely) ? likely : index_.find(id, is_it);
    }

    /// Sets those contents that the chain has.
    void read(std::uint32_t head, const core::compiled_policy& rules, contents& c) const noexcept {
        if (is_one_bucket(head, rules))
            c.states[0] = cells_[head].state;
        else
            read_chain(head, rules, c);
    }

    /// Returns the number of cells that the contents need.
    [[nodiscard]] static std::size_t cells_of(const core::compiled_policy& rules,
                                              const contents& c) noexcept;
    [[nodiscard]] std::size_t length(std::uint32_t head) const noexcept;

    /// Evicts recovered chains until `cells` more can be taken and logs or sketches can grow by
    /// `outside` cells. Returns false if a bounded search finds too little.
    /// @param in_use a chain that must not be evicted, or none
    [[nodiscard]] bool make_room(std::size_t cells, std::size_t outside, std::int64_t now,
                                 std::uint32_t in_use) noexcept;
    [[nodiscard]] bool ensure_room(std::size_t cells) noexcept { return cells_.ensure_room(cells); }
    void reserve(std::size_t cells) noexcept { cells_.reserve(cells); }
    void release_reserved(std::size_t cells) noexcept { cells_.release_reserved(cells); }
    /// Keeps searches for room from evicting or moving the chain until `unpin`.
    /// @returns its recovery time, for `unpin`
    [[nodiscard]] std::int64_t pin(std::uint32_t head, std::int64_t now) noexcept;
    void unpin(std::uint32_t head, std::int64_t recovered_at) noexcept {
        cells_[head].recovered_at = recovered_at;
    }
    /// Looks at some cells for recovered chains; called for each new key.
    void evict_some(std::int64_t now) noexcept;

    /// Replaces the contents of the chain, which then owns their log and sketches. Requires room.
    void rewrite(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                 std::int64_t recovered_at) noexcept;
    /// Returns whether the chain is the only cell of a bucket, as of most keys, and stays it if the
    /// key is not blocked. Then its state can be overwritten.
    [[nodiscard]] bool is_one_bucket(std::uint32_t head,
                                     const core::compiled_policy& rules) const noexcept {
        const auto& c = cells_[head];
        return rules.state_count == 1 && c.next == no_cell &&
               has_state_of(c.tag, core::kind::bucket) && c.tag == cell_tag(rules.limits[0]);
    }
    void overwrite(std::uint32_t head, const core::rule_state& s,
                   std::int64_t recovered_at) noexcept {
        cells_[head].state = s;
        cells_[head].recovered_at = recovered_at;
    }
    /// Adds the chain of a new key. Requires room.
    void insert(const hash::digest& id, const core::compiled_policy& rules, const contents& c,
                std::int64_t recovered_at) noexcept;
    void erase(std::uint32_t head) noexcept;

    /// Returns the record of a call with an id, or none if it has expired.
    [[nodiscard]] std::uint32_t find_record(const hash::digest& id, std::int64_t now) noexcept;
    /// Adds a record of the call, with room for the states with which it will be decided. Returns
    /// none if a bounded search finds too little room, or if live records have half of all cells.
    /// @param in_use a chain that must not be evicted, or none
    [[nodiscard]] std::uint32_t insert_record(const hash::digest& id,
                                              const core::compiled_policy& rules,
                                              const core::call_request& request,
                                              const core::call_digests& digests,
                                              std::uint32_t in_use) noexcept;
    /// Completes a record with the states before the call and the verb for which they are
    /// evaluated, and releases the cells that are not needed.
    void write_record(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                      core::verb evaluated) noexcept;
    /// Returns the call of a record, without its facts and its value.
    [[nodiscard]] core::request_record call_of_record(std::uint32_t head) const noexcept;
    /// Sets the states, and returns the verb for which they were evaluated.
    [[nodiscard]] core::verb read_record(std::uint32_t head, const core::compiled_policy& rules,
                                         contents& c) const noexcept;

    /// Records that a log or sketch has grown or shrunk, in cells.
    void change_outside(std::size_t from, std::size_t to) noexcept {
        cells_.change_outside(from, to);
    }

    [[nodiscard]] const hash::digest& id(std::uint32_t head) const noexcept {
        return cells_[head].id;
    }
    [[nodiscard]] std::size_t used() const noexcept { return cells_.used(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return cells_.capacity(); }
    [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_; }

  private:
    class writer;

    void read_chain(std::uint32_t head, const core::compiled_policy& rules,
                    contents& c) const noexcept;
    void write_chain(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                     std::int64_t recovered_at) noexcept;
    void release_owned(const cell& c) noexcept;
    void release_unclaimed(std::uint32_t head, const contents& c) noexcept;

    [[nodiscard]] std::uint32_t advance_hand() noexcept;
    [[nodiscard]] bool evict_if_recovered(std::uint32_t i, std::int64_t now) noexcept;
    void move_to_now(std::uint32_t head, std::int64_t now) noexcept;

    index index_;
    slab cells_;
    record_list records_;
    std::size_t record_cells_ = 0;
    std::uint32_t hand_ = 0;
    std::uint64_t evicted_ = 0;
};

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// The keys of the in-process store: found, read, written, and forgotten when they have recovered.
//
//     digest --index--> cell --> cell --> ...
//                        |
//                        '--> a log, a sketch
//
// Nothing runs in the background. Who needs room looks at the next cells behind a clock hand and
// frees those chains whose state has fully recovered, which is the same as having none.
//
// When the clock was set back, states lie in the future. The search for room moves those that it
// comes across to its now, in whole seconds, so that places become free in their time even if the
// clock stays back.

#ifndef COLIMIT_MEMORY_CHAINS_HPP
#define COLIMIT_MEMORY_CHAINS_HPP

#include <core/compiled_policy.hpp>
#include <hash/siphash.hpp>
#include <memory/cell.hpp>
#include <memory/index.hpp>
#include <memory/slab.hpp>

#include <cstddef>
#include <cstdint>

namespace colimit::memory {

class chains {
  public:
    /// @param capacity in cells
    explicit chains(std::size_t capacity) : index_(capacity), cells_(capacity) {}
    chains(const chains&) = delete;
    chains& operator=(const chains&) = delete;
    ~chains();

    /// The chain that the digest most likely has, or none; its first cell is read ahead.
    [[nodiscard]] std::uint32_t seek(const hash::digest& id) const noexcept {
        const auto likely = index_.find(id, [](std::uint32_t) { return true; });
        if (likely != no_cell)
            __builtin_prefetch(&cells_[likely]);
        return likely;
    }
    /// The first cell of its chain, or none.
    [[nodiscard]] std::uint32_t find(const hash::digest& id, std::uint32_t likely) const noexcept {
        const auto is_it = [&](std::uint32_t i) { return cells_[i].id == id; };
        return likely == no_cell || is_it(likely) ? likely : index_.find(id, is_it);
    }

    /// Fills in what the chain has of the plan's rules.
    void read(std::uint32_t head, const core::compiled_policy& rules, contents& c) const noexcept {
        if (is_one_bucket(head, rules))
            c.states[0] = cells_[head].state;
        else
            read_chain(head, rules, c);
    }

    /// How many cells the contents take.
    [[nodiscard]] static std::size_t cells_of(const core::compiled_policy& rules,
                                              const contents& c) noexcept;
    [[nodiscard]] std::size_t length(std::uint32_t head) const noexcept;

    /// Frees what has recovered until there is room for so many more cells, and for what counts as
    /// `outside` more; gives up after some looks.
    /// @param spared a chain that is in use, or none
    [[nodiscard]] bool make_room(std::size_t cells, std::size_t outside, std::int64_t now,
                                 std::uint32_t spared) noexcept;
    [[nodiscard]] bool has_room(std::size_t cells) noexcept { return cells_.has_room(cells); }
    void reserve(std::size_t cells) noexcept { cells_.reserve(cells); }
    void release_reserved(std::size_t cells) noexcept { cells_.release_reserved(cells); }
    /// Until `unpin`, a search for room leaves the chain as it is.
    /// @returns what `unpin` needs
    [[nodiscard]] std::int64_t pin(std::uint32_t head, std::int64_t now) noexcept;
    void unpin(std::uint32_t head, std::int64_t recovered_at) noexcept {
        cells_[head].recovered_at = recovered_at;
    }
    /// For each new key: recovered ones go as fast as new ones come.
    void look_around(std::int64_t now) noexcept;

    /// Puts the contents, with all that they own, in the place of what the chain had; there is
    /// room.
    void rewrite(std::uint32_t head, const core::compiled_policy& rules, const contents& c,
                 std::int64_t recovered_at) noexcept;
    /// Whether the chain is and stays a bucket's only cell: what most keys are. Then its state may
    /// be written in place.
    [[nodiscard]] bool is_one_bucket(std::uint32_t head,
                                     const core::compiled_policy& rules) const noexcept {
        const auto& c = cells_[head];
        return rules.slots == 1 && c.next == no_cell && has_state_of(c.tag, core::kind::bucket) &&
               c.tag == cell_tag(rules.limits[0]);
    }
    void overwrite(std::uint32_t head, const core::rule_state& s,
                   std::int64_t recovered_at) noexcept {
        cells_[head].state = s;
        cells_[head].recovered_at = recovered_at;
    }
    /// The same for a new key.
    void insert(const hash::digest& id, const core::compiled_policy& rules, const contents& c,
                std::int64_t recovered_at) noexcept;
    void forget(std::uint32_t head) noexcept;

    /// A log or a sketch has grown or shrunk, to what counts as so many cells.
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
    void release(const cell& c) noexcept;
    void release_unclaimed(std::uint32_t head, const contents& c) noexcept;

    [[nodiscard]] std::uint32_t advance_hand() noexcept;
    [[nodiscard]] bool evict_if_recovered(std::uint32_t i, std::int64_t now) noexcept;
    void bring_back_from_future(std::uint32_t head, std::int64_t now) noexcept;

    index index_;
    slab cells_;
    std::uint32_t hand_ = 0;
    std::uint64_t evicted_ = 0;
};

} // namespace colimit::memory

#endif

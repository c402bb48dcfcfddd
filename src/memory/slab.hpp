// SPDX-License-Identifier: BSL-1.0
//
// The states themselves: cells of one cache line each, a cell a rule. The cells of a key are a
// chain, and only the first one is in the index. Memory is taken in pieces of up to 2 MiB, up to
// the capacity and never more; cells that are free again are used before new ones.

#ifndef COLIMIT_MEMORY_SLAB_HPP
#define COLIMIT_MEMORY_SLAB_HPP

#include <core/evaluate.hpp>
#include <memory/index.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace colimit::memory {

/// In the place of a recovery time: a cell that belongs to the cell before it.
inline constexpr std::int64_t belongs_to_chain = std::numeric_limits<std::int64_t>::max();

struct alignas(64) cell {
    digest id; ///< of key and policy, in the first cell of a chain
    core::bucket_state state;
    std::int64_t recovered_at; ///< from then on the whole chain is as good as none
    std::uint32_t next;        ///< of the chain, or of the free cells
    std::uint32_t tag;         ///< core::bucket::tag of the rule; 0: the cell is free
};
static_assert(sizeof(cell) == 64);

class slab {
  public:
    explicit slab(std::size_t capacity);

    [[nodiscard]] cell& operator[](std::uint32_t i) noexcept {
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }
    [[nodiscard]] const cell& operator[](std::uint32_t i) const noexcept {
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }

    /// Whether `count` cells can be taken; gets the memory for them.
    [[nodiscard]] bool has_room(std::size_t count) noexcept;
    /// A cell whose members are to be written. There must be room.
    [[nodiscard]] std::uint32_t take() noexcept;
    void give_back(std::uint32_t i) noexcept;

    /// Cells below this number have been used.
    [[nodiscard]] std::uint32_t touched() const noexcept { return touched_; }
    [[nodiscard]] std::size_t used() const noexcept { return touched_ - free_count_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  private:
    static constexpr std::uint32_t chunk_cells = 32'768;

    struct release {
        void operator()(cell* chunk) const noexcept;
    };

    std::size_t capacity_;
    std::vector<std::unique_ptr<cell, release>> chunks_;
    std::uint32_t touched_ = 0;
    std::uint32_t free_ = no_cell;
    std::size_t free_count_ = 0;
};

} // namespace colimit::memory

#endif

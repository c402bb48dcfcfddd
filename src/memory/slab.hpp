// SPDX-License-Identifier: BSL-1.0
//
// The cells of all keys. Memory is allocated in chunks of up to 2 MiB, up to the capacity. Released
// cells are used before new ones. Logs and sketches, which are outside of the cells, count against
// the same capacity.

#pragma once

#include <memory/cell.hpp>
#include <memory/index.hpp>

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace colimit::memory {

class slab {
  public:
    explicit slab(std::size_t capacity);

    [[nodiscard]] cell& operator[](std::uint32_t i) noexcept {
        BOOST_ASSERT(i / chunk_cells < chunks_.size());
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }
    [[nodiscard]] const cell& operator[](std::uint32_t i) const noexcept {
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }

    /// Allocates the memory for `count` more cells. Returns whether they can be taken, and logs or
    /// sketches can grow by `outside` cells.
    [[nodiscard]] bool ensure_room(std::size_t count, std::size_t outside = 0) noexcept;
    /// Returns a cell whose members are not initialised. Requires room, see `ensure_room`.
    [[nodiscard]] std::uint32_t take() noexcept;
    void release(std::uint32_t i) noexcept;

    /// Returns the number of cells that have ever been used: the first ones.
    [[nodiscard]] std::uint32_t touched() const noexcept { return touched_; }
    /// Returns the cells in use, including logs and sketches.
    [[nodiscard]] std::size_t used() const noexcept { return touched_ - free_count_ + outside_; }
    [[nodiscard]] std::size_t outside() const noexcept { return outside_; }
    void change_outside(std::size_t from, std::size_t to) noexcept {
        BOOST_ASSERT(outside_ >= from);
        outside_ += to - from;
    }
    /// Keeps room for so many cells, which `ensure_room` does not count, until it is released.
    void reserve(std::size_t cells) noexcept { reserved_ += cells; }
    void release_reserved(std::size_t cells) noexcept {
        BOOST_ASSERT(reserved_ >= cells);
        reserved_ -= cells;
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  private:
    static constexpr std::uint32_t chunk_cells = 32'768;

    struct chunk_deleter {
        void operator()(cell* chunk) const noexcept { std::free(chunk); }
    };

    std::size_t capacity_;
    std::vector<std::unique_ptr<cell, chunk_deleter>> chunks_;
    std::uint32_t touched_ = 0;
    std::uint32_t free_ = no_cell;
    std::size_t free_count_ = 0;
    std::size_t outside_ = 0;
    std::size_t reserved_ = 0;
};

} // namespace colimit::memory

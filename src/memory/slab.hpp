// SPDX-License-Identifier: BSL-1.0
//
// The cells of all keys. Memory is taken in pieces of up to 2 MiB, up to the capacity and never
// more; cells that are free again are used before new ones. What logs and sketches take outside of
// the cells counts against the same capacity.

#ifndef COLIMIT_MEMORY_SLAB_HPP
#define COLIMIT_MEMORY_SLAB_HPP

#include <memory/cell.hpp>
#include <memory/index.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace colimit::memory {

class slab {
  public:
    explicit slab(std::size_t capacity);

    [[nodiscard]] cell& operator[](std::uint32_t i) noexcept {
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }
    [[nodiscard]] const cell& operator[](std::uint32_t i) const noexcept {
        return chunks_[i / chunk_cells].get()[i % chunk_cells];
    }

    /// Whether `count` cells can be taken, and what counts as `outside` more; gets the memory for
    /// the cells.
    [[nodiscard]] bool has_room(std::size_t count, std::size_t outside = 0) noexcept;
    /// A cell whose members are to be written. There must be room.
    [[nodiscard]] std::uint32_t take() noexcept;
    void give_back(std::uint32_t i) noexcept;

    /// Cells below this number have been used.
    [[nodiscard]] std::uint32_t touched() const noexcept { return touched_; }
    /// Cells in use, and what counts as cells.
    [[nodiscard]] std::size_t used() const noexcept { return touched_ - free_count_ + outside_; }
    [[nodiscard]] std::size_t outside() const noexcept { return outside_; }
    void change_outside(std::size_t from, std::size_t to) noexcept { outside_ += to - from; }
    /// Room for so many cells is kept until it is released: `has_room` does not count it.
    void reserve(std::size_t cells) noexcept { reserved_ += cells; }
    void release_reserved(std::size_t cells) noexcept { reserved_ -= cells; }
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
    std::size_t outside_ = 0;
    std::size_t reserved_ = 0;
};

} // namespace colimit::memory

#endif

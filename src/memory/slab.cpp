// SPDX-License-Identifier: BSL-1.0
//
// Takes cells from the list of released ones, and from unused memory if it is empty.

#include <memory/slab.hpp>

#include <algorithm>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace colimit::memory {
namespace {

/// Allocates memory for cells. A whole chunk is one huge page if the system has them: keys are in
/// random cells, so with pages of 4 KiB most calls would also miss the TLB.
[[nodiscard]] cell* allocate(std::size_t cells, bool whole_chunk) noexcept {
    const auto bytes = cells * sizeof(cell);
    auto* memory = std::aligned_alloc(whole_chunk ? bytes : alignof(cell), bytes);
#ifdef __linux__
    if (memory != nullptr && whole_chunk)
        ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<cell*>(memory);
}

} // namespace

slab::slab(std::size_t capacity) : capacity_(capacity) {
    chunks_.reserve((capacity + chunk_cells - 1) / chunk_cells);
}

bool slab::ensure_room(std::size_t count, std::size_t outside) noexcept {
    if (used() + count + outside + reserved_ > capacity_)
        return false;
    if (count <= free_count_)
        return true;
    const auto needed = touched_ + (count - free_count_);
    while (chunks_.size() * chunk_cells < needed) {
        const auto cells =
            std::min<std::size_t>(chunk_cells, capacity_ - chunks_.size() * chunk_cells);
        auto* memory = allocate(cells, cells == chunk_cells);
        if (memory == nullptr)
            return false;
        chunks_.emplace_back(memory);
    }
    return true;
}

std::uint32_t slab::take() noexcept {
    BOOST_ASSERT(free_ != no_cell || touched_ < chunks_.size() * chunk_cells);
    if (free_ == no_cell)
        return touched_++;
    const auto taken = free_;
    free_ = (*this)[taken].next;
    --free_count_;
    return taken;
}

void slab::release(std::uint32_t i) noexcept {
    auto& c = (*this)[i];
    BOOST_ASSERT(i < touched_);
    c.tag = 0;
    c.next = free_;
    free_ = i;
    ++free_count_;
}

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// What the processes of the oracle tell each other while they run, in memory that they share.

#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

namespace colimit::oracle {

constexpr std::size_t max_processes = 250;

struct board {
    std::atomic<bool> stop = false;
    /// The calls of each process that the store has decided.
    std::array<std::atomic<std::int64_t>, max_processes + 1> decided{};
};

struct unmap_board {
    void operator()(board* b) const noexcept { ::munmap(b, sizeof *b); }
};
using shared_board = std::unique_ptr<board, unmap_board>;

/// To be made before the processes are forked.
[[nodiscard]] inline shared_board make_board() {
    auto* const memory =
        ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error{"no shared memory"};
    return shared_board{new (memory) board};
}

} // namespace colimit::oracle

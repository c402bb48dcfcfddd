// SPDX-License-Identifier: BSL-1.0
//
// What the processes of the oracle tell each other while they run, in memory that they share.

#pragma once

#include "record.hpp"

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
    /// The time of the latest of these for each limit and key, in microseconds, the server's.
    std::array<std::array<std::atomic<std::int64_t>, key_set{}.size()>, max_processes + 1> latest{};
};

struct unmap_shared {
    template<class T>
    void operator()(T* shared) const noexcept {
        ::munmap(shared, sizeof *shared);
    }
};
/// In memory that this process shares with those that it forks later.
template<class T>
using shared = std::unique_ptr<T, unmap_shared>;

template<class T>
[[nodiscard]] shared<T> make_shared_memory() {
    auto* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error{"no shared memory"};
    return shared<T>{new (memory) T};
}

} // namespace colimit::oracle

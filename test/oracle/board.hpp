// SPDX-License-Identifier: BSL-1.0
//
// What the processes of the oracle tell each other, and their records: in memory that they share,
// so a process that is killed loses none.

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
#include <vector>

namespace colimit::oracle {

constexpr std::size_t max_processes = 250;

/// The part of one process, and of those that replace it when it is killed.
struct process_board {
    std::atomic<std::int64_t> decided = 0; ///< calls that a server or a lease has decided
    /// The time of the latest decision by the store for each limit and key.
    std::array<std::atomic<std::int64_t>, key_set{}.size()> latest{};
    std::atomic<int> held = 0; ///< slots that it has; 1 if it may have leases
    std::atomic<bool> rests = false;
};

struct board {
    std::atomic<bool> rest = false;        ///< calls nothing more, and gives back all slots
    std::atomic<bool> stop = false;        ///< ends
    std::atomic<std::int64_t> lost = 0;    ///< slots
    std::atomic<std::int64_t> late = 0;    ///< calls that have not ended by their deadline
    std::atomic<std::int64_t> wrong = 0;   ///< statistics that contradict the calls
    std::atomic<std::int64_t> kills = 0;   ///< of processes that had slots or leases
    std::atomic<std::int64_t> halts = 0;   ///< of such, for longer than a lease
    std::atomic<std::int64_t> looks = 0;   ///< at the sets of holders
    std::atomic<std::int64_t> crowded = 0; ///< sets with too many holders
    /// Of the network with faults.
    std::atomic<std::uint16_t> port = 0;
    /// Asks that network to end all connections; it says false when it has.
    std::atomic<bool> drop_all = false;
    std::array<process_board, max_processes + 1> each{};
};

class records {
  public:
    records() noexcept {} // NOLINT(modernize-use-equals-default): the union has no default

    /// Returns the record, which stays where it is.
    record& append(const record& r) {
        const auto n = size_.load(std::memory_order_relaxed);
        if (n == all_.size())
            throw std::runtime_error{"too many records"};
        all_[n] = r;
        size_.store(n + 1, std::memory_order_release);
        return all_[n];
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Also while the process appends records, and changes `end` of its slots.
    void copy_to(std::vector<record>& to) {
        const auto n = size_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < n; ++i) {
            to.push_back(all_[i]);
            to.back().end = std::atomic_ref{all_[i].end}.load(std::memory_order_relaxed);
        }
    }

  private:
    std::atomic<std::size_t> size_ = 0;
    // A union does not initialise it, so it takes memory as it is used.
    union {
        std::array<record, std::size_t{1} << 22U> all_;
    };
};

/// The process had the slot at this time.
inline void believe(record& slot, std::int64_t time) noexcept {
    std::atomic_ref{slot.end}.store(time, std::memory_order_relaxed);
}

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

// SPDX-License-Identifier: BSL-1.0
//
// Memory for incomplete calls: blocks of a few sizes, allocated in groups and kept for later calls.
// A limiter allocates again only if more calls are incomplete than ever before.

#pragma once

#include <base/thread_lock.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace colimit::detail {

class node_pool {
  public:
    /// Of every block, as handlers may contain objects for vector instructions, or ones that fill
    /// a line of the processor's cache.
    static constexpr std::size_t alignment = 128;

    explicit node_pool(bool thread_safe = false) : lock_(thread_safe) {}

    [[nodiscard]] void* allocate(std::size_t bytes) {
        const auto size_class = class_of(bytes);
        if (size_class >= free_.size())
            return ::operator new(bytes, std::align_val_t{alignment});
        const std::lock_guard guard{lock_};
        if (free_[size_class] == nullptr)
            grow(size_class);
        auto* taken = free_[size_class];
        free_[size_class] = taken->next;
        return taken;
    }

    void deallocate(void* memory, std::size_t bytes) noexcept {
        const auto size_class = class_of(bytes);
        if (size_class >= free_.size()) {
            ::operator delete(memory, std::align_val_t{alignment});
            return;
        }
        const std::lock_guard guard{lock_};
        free_[size_class] = ::new (memory) block{free_[size_class]};
    }

  private:
    /// Blocks are multiples of this; the node of an awaited call has about 600 bytes, and the data
    /// of an `allow_all` with 64 checks a little more than 2,048.
    struct alignas(alignment) unit {
        std::array<std::byte, alignment> bytes;
    };
    static constexpr std::size_t classes = 17;
    static constexpr std::size_t blocks_per_group = 16;

    struct block {
        block* next;
    };

    [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
        return (bytes - 1) / sizeof(unit);
    }

    void grow(std::size_t size_class) {
        const auto units = size_class + 1;
        groups_.push_back(std::make_unique_for_overwrite<unit[]>(units * blocks_per_group));
        auto* at = groups_.back().get();
        for (std::size_t i = 0; i < blocks_per_group; ++i, at += units)
            free_[size_class] = ::new (at) block{free_[size_class]};
    }

    thread_lock lock_;
    std::array<block*, classes> free_{};
    std::vector<std::unique_ptr<unit[]>> groups_;
};

} // namespace colimit::detail

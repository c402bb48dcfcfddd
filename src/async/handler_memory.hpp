// SPDX-License-Identifier: BSL-1.0
//
// Memory for the single outstanding handler of a loop, inside the object that runs the loop:
// reading, writing and waiting allocate nothing.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>

namespace colimit::detail {

class handler_memory {
  public:
    handler_memory() = default;
    handler_memory(const handler_memory&) = delete;
    handler_memory& operator=(const handler_memory&) = delete;

    /// Returns the storage inside, or the system's memory if that is in use or too small (a handler
    /// of a replaced connection may still exist).
    [[nodiscard]] void* allocate(std::size_t bytes) {
        if (bytes > storage_.size() || in_use_.exchange(true, std::memory_order_acquire))
            return ::operator new(bytes);
        return storage_.data();
    }

    void deallocate(void* memory) noexcept {
        if (memory == storage_.data())
            in_use_.store(false, std::memory_order_release);
        else
            ::operator delete(memory);
    }

  private:
    alignas(std::max_align_t) std::array<std::byte, 768> storage_{};
    std::atomic<bool> in_use_{false}; ///< a handler may end in another thread than it started in
};

/// The allocator of a handler.
template<class T>
class handler_allocator {
  public:
    using value_type = T;

    explicit handler_allocator(handler_memory& memory) noexcept : memory_(&memory) {}
    template<class U>
    handler_allocator(const handler_allocator<U>& other) noexcept : memory_(other.memory_) {}

    [[nodiscard]] T* allocate(std::size_t n) {
        return static_cast<T*>(memory_->allocate(n * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t /*n*/) noexcept { memory_->deallocate(memory); }

    template<class U>
    [[nodiscard]] bool operator==(const handler_allocator<U>& other) const noexcept {
        return memory_ == other.memory_;
    }

  private:
    template<class>
    friend class handler_allocator;

    handler_memory* memory_;
};

} // namespace colimit::detail

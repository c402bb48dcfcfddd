// SPDX-License-Identifier: BSL-1.0
//
// Memory for the single outstanding handler of a loop, inside the object that runs the loop:
// reading, writing and waiting allocate nothing.

#pragma once

#include <boost/asio/bind_allocator.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <utility>

namespace colimit::detail {

class handler_memory final : public std::pmr::memory_resource {
  private:
    /// Returns the storage inside, or the system's memory if that is in use or too small (a handler
    /// of a replaced connection may still exist).
    [[nodiscard]] void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes > storage_.size() || alignment > alignof(std::max_align_t) ||
            in_use_.exchange(true, std::memory_order_acquire))
            return ::operator new(bytes, std::align_val_t{alignment});
        return storage_.data();
    }

    void do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t alignment) override {
        if (memory == storage_.data())
            in_use_.store(false, std::memory_order_release);
        else
            ::operator delete(memory, std::align_val_t{alignment});
    }

    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    alignas(std::max_align_t) std::array<std::byte, 768> storage_{};
    std::atomic<bool> in_use_{false}; ///< a handler may end in another thread than it started in
};

/// Returns the handler, for which Asio allocates `memory`.
template<class Handler>
[[nodiscard]] auto with_memory(handler_memory& memory, Handler handler) {
    return boost::asio::bind_allocator(std::pmr::polymorphic_allocator<char>{&memory},
                                       std::move(handler));
}

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// An array of zeros that is not written when it is allocated: the system provides its pages when
// they are first accessed. So a table can have its final size from the start and is never moved
// during a call, yet an empty store takes almost no memory.

#pragma once

#include <boost/assert.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace colimit::detail {

/// `T` is a plain aggregate for which all bits zero is a valid value.
template<class T>
class zeroed_array {
    static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

  public:
    explicit zeroed_array(std::size_t size)
        : memory_(std::calloc(size + 1, sizeof(T))), size_(size) {
        if (!memory_)
            throw std::bad_alloc{};
        // calloc aligns for numbers, not for cache lines: there is one extra element.
        static_assert(alignof(T) <= sizeof(T));
        void* at = memory_.get();
        auto space = (size + 1) * sizeof(T);
        first_ = static_cast<T*>(std::align(alignof(T), size * sizeof(T), at, space));
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept {
        BOOST_ASSERT(i < size_);
        return first_[i];
    }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept {
        BOOST_ASSERT(i < size_);
        return first_[i];
    }

  private:
    struct release {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<void, release> memory_;
    T* first_;
    std::size_t size_;
};

} // namespace colimit::detail

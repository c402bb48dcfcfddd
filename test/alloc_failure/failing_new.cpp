// SPDX-License-Identifier: BSL-1.0
//
// All forms of operator new come to malloc here, and all of operator delete to free, so that this
// works beside the allocator of a sanitizer too.

#include <alloc_failure/failing_new.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

struct counter {
    bool counts = false;
    std::int64_t request = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
};

thread_local counter here;

[[nodiscard]] bool is_refused() noexcept {
    if (!here.counts)
        return false;
    ++here.request;
    return here.request >= here.first && here.request < here.end;
}

[[nodiscard]] void* aligned(std::size_t size, std::size_t alignment) noexcept {
    void* memory = nullptr;
    const auto failed = ::posix_memalign(&memory, std::max(alignment, sizeof(void*)), size);
    return failed == 0 ? memory : nullptr;
}

[[nodiscard]] void* allocate(std::size_t size) noexcept {
    return is_refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
}

[[nodiscard]] void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
    return is_refused() ? nullptr : aligned(size, static_cast<std::size_t>(alignment));
}

[[nodiscard]] void* checked(void* memory) {
    if (memory == nullptr)
        throw std::bad_alloc{};
    return memory;
}

} // namespace

namespace colimit::test {

shortage::shortage(std::int64_t first, std::int64_t length) noexcept {
    here = {.counts = true, .request = 0, .first = first, .end = first + length};
}

shortage::~shortage() {
    here.counts = false;
}

bool shortage::has_struck() noexcept {
    return here.request >= here.first;
}

void shortage::end() noexcept {
    here.end = here.first;
}

plenty::plenty() noexcept : was_counting_(here.counts) {
    here.counts = false;
}

plenty::~plenty() {
    here.counts = was_counting_;
}

} // namespace colimit::test

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return allocate(size, std::align_val_t{alignment});
}

void* operator new(std::size_t size) {
    return checked(allocate(size));
}
void* operator new[](std::size_t size) {
    return checked(allocate(size));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
    return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return checked(allocate(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return checked(allocate(size, alignment));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

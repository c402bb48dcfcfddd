// SPDX-License-Identifier: BSL-1.0
//
// The program defines the C library's allocation functions itself and passes the calls on. The
// linker lets the program's definitions win, also for calls from within shared libraries, so that
// operator new (which calls malloc and aligned_alloc) is counted too.

#include <support/allocation_count.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace {

constinit std::atomic<std::uint64_t> count{0};

void note() noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

// glibc's own names of these functions. NOLINTBEGIN(*-reserved-identifier,*-naming)
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
    note();
    return __libc_malloc(bytes);
}

void* calloc(std::size_t n, std::size_t bytes) noexcept {
    note();
    return __libc_calloc(n, bytes);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
    note();
    return __libc_realloc(memory, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    note();
    return __libc_memalign(alignment, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    note();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
    note();
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND(*-reserved-identifier,*-naming)

namespace colimit::benchmark {
namespace {

/// Runs one way to allocate and to free again. The pointer goes through a volatile, or the compiler
/// would remove both.
template<class Allocate, class Free>
[[nodiscard]] bool is_noticed(Allocate allocate, Free free_again) {
    const auto before = allocation_count();
    void* volatile memory = allocate();
    const auto noticed = allocation_count() != before;
    free_again(memory);
    return noticed;
}

} // namespace

std::uint64_t allocation_count() noexcept {
    return count.load(std::memory_order_relaxed);
}

bool counts_every_allocation() {
    constexpr auto wide = std::align_val_t{64};
    const auto delete_plain = [](void* p) { ::operator delete(p); };
    const auto delete_wide = [](void* p) { ::operator delete(p, wide); };
    const auto by_posix = [] {
        void* memory = nullptr;
        return posix_memalign(&memory, 64, 64) == 0 ? memory : nullptr;
    };
    return is_noticed([] { return ::operator new(64); }, delete_plain) &&
           is_noticed([] { return ::operator new(64, wide); }, delete_wide) &&
           is_noticed([] { return std::malloc(64); }, std::free) &&
           is_noticed([] { return std::calloc(1, 64); }, std::free) &&
           is_noticed([] { return std::realloc(nullptr, 64); }, std::free) &&
           is_noticed([] { return std::aligned_alloc(64, 64); }, std::free) &&
           is_noticed([] { return ::memalign(64, 64); }, std::free) &&
           is_noticed(by_posix, std::free);
}

} // namespace colimit::benchmark

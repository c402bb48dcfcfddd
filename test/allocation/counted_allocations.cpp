// SPDX-License-Identifier: BSL-1.0
//
// The C library's functions, replaced by ones that count and then call what glibc keeps under other
// names. Operator new ends up here too. What they give is freed by the free that is there.

#include <allocation/counted_allocations.hpp>

#include <execinfo.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ostream>

namespace {

std::atomic<std::int64_t> count{0};

/// The origin of the first allocation since the trace was armed.
enum class trace { off, armed, taken };
std::atomic<trace> state{trace::off};
std::array<void*, 48> frames{};
int depth = 0;

void note() noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    auto armed = trace::armed;
    if (state.compare_exchange_strong(armed, trace::taken, std::memory_order_relaxed))
        depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
}

} // namespace

namespace colimit::test {

std::int64_t allocations() noexcept {
    return count.load(std::memory_order_relaxed);
}

void trace_next_allocation() noexcept {
    state = trace::off;
    depth = ::backtrace(frames.data(), 1); // loads what it needs now
    state = trace::armed;
}

void print_traced_allocation(std::ostream& out) {
    if (state.exchange(trace::off) != trace::taken)
        return;
    char** names = ::backtrace_symbols(frames.data(), depth);
    for (int i = 0; i < depth; ++i)
        out << "  " << names[i] << '\n';
    std::free(names); // NOLINT(cppcoreguidelines-no-malloc): the C library's
}

} // namespace colimit::test

extern "C" {

void* __libc_malloc(std::size_t size);                          // NOLINT: glibc's names
void* __libc_calloc(std::size_t items, std::size_t size);       // NOLINT
void* __libc_realloc(void* memory, std::size_t size);           // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size); // NOLINT

void* malloc(std::size_t size) noexcept {
    note();
    return __libc_malloc(size);
}

void* calloc(std::size_t items, std::size_t size) noexcept {
    note();
    return __libc_calloc(items, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
    note();
    return __libc_realloc(memory, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    note();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
    *memory = memalign(alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}
}

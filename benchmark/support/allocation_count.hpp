// SPDX-License-Identifier: BSL-1.0
//
// How often this program has asked the system for memory, in whichever way: malloc, calloc,
// realloc, aligned_alloc, posix_memalign, memalign or operator new.

#ifndef COLIMIT_BENCHMARK_SUPPORT_ALLOCATION_COUNT_HPP
#define COLIMIT_BENCHMARK_SUPPORT_ALLOCATION_COUNT_HPP

#include <cstdint>

namespace colimit::benchmark {

[[nodiscard]] std::uint64_t allocation_count() noexcept;

/// Whether every way is noticed. A zero that nobody counted would be worth nothing.
[[nodiscard]] bool counts_every_allocation();

} // namespace colimit::benchmark

#endif

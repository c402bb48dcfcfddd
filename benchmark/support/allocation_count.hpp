// SPDX-License-Identifier: BSL-1.0
//
// The number of allocations of this program, with any of malloc, calloc, realloc, aligned_alloc,
// posix_memalign, memalign or operator new.

#pragma once

#include <cstdint>

namespace colimit::benchmark {

[[nodiscard]] std::uint64_t allocation_count() noexcept;

/// Returns whether each of them is counted, as otherwise a zero would be meaningless.
[[nodiscard]] bool counts_every_allocation();

} // namespace colimit::benchmark

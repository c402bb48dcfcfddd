// SPDX-License-Identifier: BSL-1.0
//
// Counts what this program asks of the system's allocator, by every way there is: operator new
// alone would not do, since Asio takes memory with aligned_alloc.

#ifndef COLIMIT_TEST_ALLOCATION_COUNTED_ALLOCATIONS_HPP
#define COLIMIT_TEST_ALLOCATION_COUNTED_ALLOCATIONS_HPP

#include <cstdint>

namespace colimit::test {

/// Allocations of all threads since the program began.
[[nodiscard]] std::int64_t allocations() noexcept;

} // namespace colimit::test

#endif

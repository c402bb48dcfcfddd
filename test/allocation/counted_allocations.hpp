// SPDX-License-Identifier: BSL-1.0
//
// Counts what this program asks of the system's allocator, by every way there is: operator new
// alone would not do, since Asio takes memory with aligned_alloc.

#pragma once

#include <cstdint>
#include <iosfwd>

namespace colimit::test {

/// Allocations of all threads since the program began.
[[nodiscard]] std::int64_t allocations() noexcept;

/// The next allocation's stack is kept, for print_traced_allocation().
void trace_next_allocation() noexcept;

/// As addresses for addr2line, a line each; nothing if there was no allocation.
void print_traced_allocation(std::ostream& out);

} // namespace colimit::test

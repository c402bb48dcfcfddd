// SPDX-License-Identifier: BSL-1.0
//
// Where a run took place, and how quiet it was there.

#ifndef COLIMIT_BENCHMARK_SUPPORT_MACHINE_HPP
#define COLIMIT_BENCHMARK_SUPPORT_MACHINE_HPP

#include <string>

namespace colimit::benchmark {

/// The processor, the cores and the kernel, in one line.
[[nodiscard]] std::string machine();

[[nodiscard]] std::string compiler();

/// Now, in UTC.
[[nodiscard]] std::string date();

/// Processes that wanted to run, over the last minute.
[[nodiscard]] double load_average();

} // namespace colimit::benchmark

#endif

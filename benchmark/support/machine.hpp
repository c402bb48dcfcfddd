// SPDX-License-Identifier: BSL-1.0
//
// The machine of a run, and its load.

#pragma once

#include <string>

namespace colimit::benchmark {

/// Returns the processor, the cores and the kernel, in one line.
[[nodiscard]] std::string machine();

[[nodiscard]] std::string compiler();

/// Returns the present time, in UTC.
[[nodiscard]] std::string date();

/// Returns the number of runnable processes, over the last minute.
[[nodiscard]] double load_average();

} // namespace colimit::benchmark

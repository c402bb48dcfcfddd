// SPDX-License-Identifier: BSL-1.0
//
// The clock of the in-process store, read in one place: the system clock, because windows follow
// the calendar. When it is set, the arithmetic handles that like any clock that jumps.

#pragma once

#include <chrono>
#include <cstdint>

namespace colimit::detail {

/// Returns the time in microseconds since 1970.
[[nodiscard]] inline std::int64_t system_now() noexcept {
    using std::chrono::microseconds;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<microseconds>(now).count();
}

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// Times of decisions as text.

#pragma once

#include <chrono>
#include <string>

namespace tool {

/// Returns `1.5 s`, `230 us`, `2 h 5 min`: exact below a second, to the millisecond below a minute,
/// then to the second, rounded up.
[[nodiscard]] std::string time_text(std::chrono::microseconds time);

/// Returns `2026-11-24 13:05:03.250 UTC`.
[[nodiscard]] std::string instant_text(std::chrono::sys_time<std::chrono::microseconds> at);

} // namespace tool

// SPDX-License-Identifier: BSL-1.0
//
// Microseconds of the two clocks: the steady clock, which deadlines use, and the system clock,
// which the in-process store uses because windows follow the calendar. When the latter is set, the
// arithmetic handles that like any clock that jumps.

#pragma once

#include <colimit/detail/call_request.hpp>

#include <chrono>
#include <cstdint>

namespace colimit::detail {

template<class Clock>
[[nodiscard]] std::int64_t microseconds_of() noexcept {
    const auto now = Clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

[[nodiscard]] inline std::int64_t steady_now() noexcept {
    return microseconds_of<std::chrono::steady_clock>();
}

/// Returns the time in microseconds since 1970.
[[nodiscard]] inline std::int64_t system_now() noexcept {
    return microseconds_of<std::chrono::system_clock>();
}

/// Returns the supplied time of a request, or the current one.
[[nodiscard]] inline std::int64_t time_of(const call_request& request) noexcept {
    return request.now == store_clock ? system_now() : request.now;
}

[[nodiscard]] inline std::chrono::steady_clock::time_point time_at(std::int64_t us) noexcept {
    return std::chrono::steady_clock::time_point{std::chrono::microseconds{us}};
}

} // namespace colimit::detail

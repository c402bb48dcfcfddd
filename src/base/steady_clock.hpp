// SPDX-License-Identifier: BSL-1.0
//
// Microseconds of the steady clock, which deadlines use.

#pragma once

#include <chrono>
#include <cstdint>

namespace colimit::detail {

[[nodiscard]] inline std::int64_t steady_now() noexcept {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::microseconds>(
               steady_clock::now().time_since_epoch())
        .count();
}

[[nodiscard]] inline std::chrono::steady_clock::time_point time_at(std::int64_t us) noexcept {
    return std::chrono::steady_clock::time_point{std::chrono::microseconds{us}};
}

} // namespace colimit::detail

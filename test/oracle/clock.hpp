// SPDX-License-Identifier: BSL-1.0
//
// The clock that all servers and processes of this machine have, and patience.

#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

namespace colimit::oracle {

[[nodiscard]] inline std::int64_t microseconds_now() {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// Looks every millisecond.
template<class Condition>
void wait_until(const char* what, Condition holds) {
    constexpr auto patience = std::chrono::seconds{60};
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{std::string{"in vain: "} + what};
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

} // namespace colimit::oracle

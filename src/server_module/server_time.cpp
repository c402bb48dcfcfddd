// SPDX-License-Identifier: BSL-1.0
//
// Reads the system clock, as servers do.

#include <server_module/server_time.hpp>

#include <ctime>

namespace colimit::server_module {

std::int64_t server_time() noexcept {
    auto time = timespec{};
    clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
}

} // namespace colimit::server_module

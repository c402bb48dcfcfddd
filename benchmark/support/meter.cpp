// SPDX-License-Identifier: BSL-1.0
//
// The server is read first and last, so that reading it is not part of the measured time.

#include <support/allocation_count.hpp>
#include <support/meter.hpp>
#include <support/server.hpp>

#include <ctime>
#include <utility>

namespace colimit::benchmark {
namespace {

[[nodiscard]] double own_cpu_seconds() {
    auto t = std::timespec{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

[[nodiscard]] double server_seconds(const std::vector<std::string>& sockets) {
    auto sum = 0.0;
    for (const auto& socket : sockets)
        sum += server{socket}.cpu_seconds();
    return sum;
}

} // namespace

meter::meter(std::vector<std::string> sockets)
    : sockets_(std::move(sockets)), server_s_(server_seconds(sockets_)),
      client_s_(own_cpu_seconds()), allocations_(allocation_count()),
      begin_(std::chrono::steady_clock::now()) {}

measurement meter::read(std::uint64_t checks) const {
    const auto end = std::chrono::steady_clock::now();
    const auto allocations = allocation_count() - allocations_;
    const auto client_s = own_cpu_seconds() - client_s_;
    const auto n = static_cast<double>(checks);
    auto m = measurement{.checks_per_s = n / std::chrono::duration<double>(end - begin_).count()};
    m.client_us_per_check = client_s / n * 1e6;
    m.allocations_per_check = static_cast<double>(allocations) / n;
    if (!sockets_.empty())
        m.server_us_per_check = (server_seconds(sockets_) - server_s_) / n * 1e6;
    return m;
}

} // namespace colimit::benchmark

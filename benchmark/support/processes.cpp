// SPDX-License-Identifier: BSL-1.0
//
// The processes are forked, and write their counts into memory that they share with this one.

#include <support/meter.hpp>
#include <support/processes.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace colimit::benchmark {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_processes = 16;

struct meeting {
    std::atomic<unsigned> ready = 0;
    std::atomic<bool> begin = false;
    std::atomic<unsigned> done = 0;
    std::atomic<bool> end = false;
    std::array<process_counts, most_processes> counts{};
    std::array<double, most_processes> client_s{};
};

struct unmap {
    void operator()(meeting* m) const noexcept { ::munmap(m, sizeof *m); }
};

[[nodiscard]] std::unique_ptr<meeting, unmap> make_meeting() {
    auto* const memory =
        ::mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error{"no shared memory"};
    return std::unique_ptr<meeting, unmap>{new (memory) meeting};
}

[[nodiscard]] double own_cpu() {
    auto t = std::timespec{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void take_part(meeting& all, unsigned process, const process_work& work) {
    auto before = 0.0;
    all.counts[process] = work(process, [&] {
        ++all.ready;
        while (!all.begin)
            std::this_thread::sleep_for(100us);
        before = own_cpu();
    });
    all.client_s[process] = own_cpu() - before;
    ++all.done;
    while (!all.end) // or its end would be measured, too
        std::this_thread::sleep_for(1ms);
}

[[nodiscard]] pid_t start(meeting& all, unsigned process, const process_work& work) {
    const auto pid = ::fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid != 0)
        return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        take_part(all, process, work);
    } catch (const std::exception& e) {
        std::cerr << "process " << process << ": " << e.what() << '\n';
        ::_exit(1);
    }
    ::_exit(0);
}

/// Waits until so many have come there.
void await(const std::atomic<unsigned>& place, std::size_t count) {
    while (place < count) {
        auto status = 0;
        if (::waitpid(-1, &status, WNOHANG) > 0)
            throw std::runtime_error{"a process has ended"};
        std::this_thread::sleep_for(1ms);
    }
}

} // namespace

measurement run_in_processes(unsigned count, const process_work& work, const conditions& c) {
    const auto all = make_meeting();
    auto pids = std::vector<pid_t>{};
    auto m = measurement{};
    auto sum = process_counts{};
    auto client_s = 0.0;
    try {
        for (auto i = 0U; i < count; ++i)
            pids.push_back(start(*all, i, work));
        await(all->ready, count);
        const auto spent = meter{c.socket};
        all->begin = true;
        await(all->done, count);
        for (std::size_t i = 0; i < count; ++i) {
            sum.checks += all->counts[i].checks;
            sum.allowed += all->counts[i].allowed;
            sum.leased += all->counts[i].leased;
            client_s += all->client_s[i];
        }
        m = spent.read(sum.checks);
    } catch (...) {
        for (const auto pid : pids)
            ::kill(pid, SIGKILL);
        throw;
    }
    all->end = true;
    for (const auto pid : pids)
        ::waitpid(pid, nullptr, 0);
    const auto checks = static_cast<double>(sum.checks);
    m.client_us_per_check = client_s / checks * 1e6;
    m.allocations_per_check.reset(); // of this process, which has made no calls
    m.leased_share = static_cast<double>(sum.leased) / checks;
    m.allowed_share = static_cast<double>(sum.allowed) / checks;
    return m;
}

} // namespace colimit::benchmark

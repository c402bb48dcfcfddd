// SPDX-License-Identifier: BSL-1.0
//
// Every process runs each J-th seed and writes its sums into a pipe.

#include "campaign.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace colimit::simulation {
namespace {

/// One seed in so many is run twice, and must do the same.
constexpr std::uint64_t seeds_per_repetition = 20;

struct sums {
    std::uint64_t runs = 0;
    std::uint64_t failed = 0;
    std::uint64_t calls = 0;
    std::uint64_t accounts = 0;
    std::int64_t time = 0;

    void add(const sums& other) noexcept {
        runs += other.runs;
        failed += other.failed;
        calls += other.calls;
        accounts += other.accounts;
        time += other.time;
    }
};

[[nodiscard]] run_result run_once(const run_settings& settings) {
    auto result = run(settings);
    if (!result.problem.empty() || settings.seed % seeds_per_repetition != 0)
        return result;
    if (run(settings).trace_hash != result.trace_hash)
        result.problem = "a second run of the seed is another one";
    return result;
}

[[nodiscard]] sums run_share(const campaign& order, std::uint64_t first) {
    auto all = sums{};
    auto settings = order.run;
    for (auto i = first; i < order.seeds; i += static_cast<std::uint64_t>(order.jobs)) {
        settings.seed = order.run.seed + i;
        const auto result = run_once(settings);
        all.add({.runs = 1,
                 .failed = result.problem.empty() ? 0U : 1U,
                 .calls = result.calls,
                 .accounts = result.accounts,
                 .time = result.time});
        if (!result.problem.empty())
            std::cout << "seed " + std::to_string(settings.seed) + ": " + result.problem + '\n'
                      << std::flush;
    }
    return all;
}

/// Runs a share in a process of its own. Returns the end of the pipe from which its sums are read.
[[nodiscard]] int fork_share(const campaign& order, std::uint64_t first) {
    auto pipe = std::array<int, 2>{};
    if (::pipe(pipe.data()) != 0)
        throw std::runtime_error{"no pipe"};
    const auto pid = ::fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid != 0) {
        ::close(pipe[1]);
        return pipe[0];
    }
    const auto all = run_share(order, first);
    const auto written = ::write(pipe[1], &all, sizeof all);
    std::_Exit(written == sizeof all ? 0 : 1);
}

} // namespace

bool run_all(const campaign& order) {
    auto all = sums{};
    auto pipes = std::vector<int>{};
    for (auto j = 0; order.jobs > 1 && j < order.jobs; ++j)
        pipes.push_back(fork_share(order, static_cast<std::uint64_t>(j)));
    if (pipes.empty())
        all = run_share(order, 0);
    for (const auto p : pipes) {
        auto share = sums{};
        if (::read(p, &share, sizeof share) == sizeof share)
            all.add(share);
        ::close(p);
    }
    while (::wait(nullptr) > 0) {
    }
    std::cout << "seeds " << all.runs << ", calls " << all.calls << ", histories of states "
              << all.accounts << ", virtual hours " << all.time / second / 3'600 << ", failed "
              << all.failed << '\n';
    return all.failed == 0 && all.runs == order.seeds; // a process that crashed has no sums
}

std::uint64_t hash_of(const campaign& order) {
    auto settings = order.run;
    auto hash = std::uint64_t{0};
    for (std::uint64_t i = 0; i < order.seeds; ++i, ++settings.seed)
        hash = hash * 0x9e3779b97f4a7c15U + run(settings).trace_hash;
    return hash;
}

} // namespace colimit::simulation

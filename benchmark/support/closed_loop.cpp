// SPDX-License-Identifier: BSL-1.0
//
// The warm-up, the measured run, and the end; with several threads, each of these together.

#include <support/callers.hpp>
#include <support/closed_loop.hpp>
#include <support/meter.hpp>
#include <support/server.hpp>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace colimit::benchmark {
namespace {

/// Returns the sockets of the servers to measure.
[[nodiscard]] std::vector<std::string> servers_of(const closed_loop& loop, const conditions& c) {
    if (loop.settings.server == "memory:")
        return {};
    return loop.settings.server == c.cluster ? c.nodes : std::vector{c.socket};
}

/// Returns the bytes that their data take.
[[nodiscard]] double bytes_of(const std::vector<std::string>& sockets) {
    auto sum = 0.0;
    for (const auto& socket : sockets)
        sum += server{socket}.bytes_in_use();
    return sum;
}

/// Threads get the cores in order, except the first, which is the server's.
void move_to_core_of(unsigned thread) {
    const auto cores = std::thread::hardware_concurrency();
    if (cores < 2)
        return;
    auto set = cpu_set_t{};
    CPU_ZERO(&set);
    CPU_SET(1 + thread % (cores - 1), &set);
    sched_setaffinity(0, sizeof set, &set); // if it may not, the figures are worse, not wrong
}

/// The data that all threads of a measurement share.
struct crew {
    explicit crew(unsigned threads) : step(threads + std::ptrdiff_t{1}), failures(threads) {}

    std::barrier<> step;                   ///< the threads' and the meter's
    std::atomic<std::uint64_t> checks = 0; ///< in the measured run
    std::vector<std::exception_ptr> failures;
};

/// Arrives at each of the three barriers, also after a failure: the others would wait forever.
void work(crew& all, unsigned thread, unsigned threads, const closed_loop& loop,
          const conditions& c) {
    auto meetings = 3;
    const auto meet = [&] {
        all.step.arrive_and_wait();
        --meetings;
    };
    try {
        move_to_core_of(thread);
        auto asking = callers{loop, std::uint64_t{thread} * loop.callers};
        asking.call(c.warm_up / threads);
        const auto before = asking.checks();
        asking.call_for(c.seconds, [&] {
            meet(); // all are ready
            meet(); // the meter runs
        });
        all.checks += asking.checks() - before;
        meet(); // the meter may be read
        asking.end();
        asking.must_not_be_refused();
    } catch (...) {
        all.failures[thread] = std::current_exception();
    }
    while (meetings != 0)
        meet();
}

} // namespace

measurement run(const closed_loop& loop, const conditions& c) {
    const auto servers = servers_of(loop, c);
    const auto empty = bytes_of(servers);
    auto asking = callers{loop};
    asking.call(c.warm_up);

    asking.latencies = {};
    const auto before = asking.checks();
    const auto sent = asking.statistics();
    auto spent = std::optional<meter>{};
    asking.call_for(c.seconds, [&] { spent.emplace(servers); });
    auto m = spent->read(asking.checks() - before);
    const auto now = asking.statistics();
    if (loop.policy.leases().count() != 0)
        m.leased_share = static_cast<double>(now.count(decision_source::lease) -
                                             sent.count(decision_source::lease)) /
                         static_cast<double>(asking.checks() - before);
    if (now.batches > sent.batches)
        m.keys_per_batch = static_cast<double>(now.batch_keys - sent.batch_keys) /
                           static_cast<double>(now.batches - sent.batches);
    if (!servers.empty())
        m.bytes_per_key = (bytes_of(servers) - empty) / loop.keys;

    asking.end();
    asking.must_not_be_refused();
    add_percentiles(m, asking.latencies);
    return m;
}

measurement run_on_threads(unsigned threads, const closed_loop& loop, const conditions& c) {
    auto all = crew{threads};
    auto at_work = std::vector<std::jthread>{};
    for (auto i = 0U; i < threads; ++i)
        at_work.emplace_back([&all, i, threads, &loop, &c] { work(all, i, threads, loop, c); });
    all.step.arrive_and_wait();
    const auto spent = meter{servers_of(loop, c)};
    all.step.arrive_and_wait();
    all.step.arrive_and_wait();
    const auto m = spent.read(all.checks);
    at_work.clear();
    for (const auto& failure : all.failures)
        if (failure)
            std::rethrow_exception(failure);
    return m;
}

} // namespace colimit::benchmark

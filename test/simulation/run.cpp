// SPDX-License-Identifier: BSL-1.0
//
// Puts a world together, lets it run, and looks at what came of it.

#include "run.hpp"

#include "faults.hpp"
#include "topology.hpp"
#include "workload.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <deque>
#include <exception>

namespace colimit::simulation {
namespace {

using namespace std::chrono_literals;

/// After the last fault: in this time every connection is tried again.
constexpr std::int64_t recovery_time = 6 * second;

[[nodiscard]] std::vector<policy> random_policies(test::rng& random) {
    auto policies = std::vector<policy>{};
    for (auto left = 1 + random.below(3); left > 0; --left) {
        const auto calls = random.magnitude(40);
        const auto period = std::chrono::milliseconds{random.magnitude(5'000)};
        // A few calls with an identity, or many without.
        const auto tokens = random.percent(20) ? calls : calls * (ledger::first_cost + 100'000);
        const auto r = random.percent(70) ? gcra(tokens, period) : fixed_window(tokens, period);
        policies.emplace_back("p" + std::to_string(policies.size()), r);
    }
    return policies;
}

void live(machine& m, run_result& result) {
    auto net = network{m};
    m.attached = &net;
    net.weather = random_weather(m.random());
    const auto names = catalogue{random_policies(m.random()), 1 + m.random().below(6), "s"};
    auto records = ledger{m, names.limits(), names.keys().size()};
    const auto servers =
        make_deployment(static_cast<topology>(m.random().below(3)), net, names, records);
    auto calls = std::deque<made_call>{};
    auto context = boost::asio::io_context{1};
    const auto begin = m.now();
    const auto faults_end = begin + m.random().between(500 * millisecond, 4 * second);
    auto work = workload{m,
                         context,
                         names,
                         records,
                         calls,
                         {.address = servers->address(),
                          .faults_end = faults_end,
                          .final_begin = faults_end + recovery_time,
                          .end = faults_end + recovery_time + second}};
    plan_faults(net, *servers, begin, faults_end);
    m.at(faults_end, [&] {
        net.weather = {};
        servers->heal();
    });
    work.start();
    try {
        context.run();
        work.check();
    } catch (const violation& v) {
        result.problem = v.what();
    }
    result.calls = calls.size();
    result.accounts = records.accounts();
    result.time = m.now() - begin;
}

} // namespace

run_result run(const run_settings& settings) {
    auto result = run_result{};
    auto m = machine{settings.seed, settings.flaw};
    m.prints_trace = settings.prints_trace;
    live(m, result);
    result.trace_hash = m.trace_hash();
    return result;
}

} // namespace colimit::simulation

// SPDX-License-Identifier: BSL-1.0
//
// oracle --checks N --processes P [--faults] [--server ADDRESS] [--seed S] [--break FLAW]
// oracle --sentinel | --cluster [--failovers N] [--kind KIND] [--within MS] ...
//
// P processes hammer a few shared keys under several limits and write down every decision with the
// server's time. Afterwards a checker that shares no code with the limiter goes through all of it:
// is there any window in which more was granted than the model allows, and did the server grant
// more than was asked for? Ends with 1 if so. The second form makes failovers meanwhile.

#include "caller.hpp"
#include "campaign.hpp"
#include "checker.hpp"
#include "fault_injector.hpp"
#include "processes.hpp"
#include "records_file.hpp"

#include <support/fault_proxy.hpp>
#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::oracle {
namespace {

using namespace std::chrono_literals;

/// Checks between which nothing is remembered, as all records of a round are sorted in memory.
constexpr std::int64_t checks_per_round = 4'000'000;

struct order {
    std::int64_t checks = 100'000;
    int processes = 4;
    bool faults = false;
    std::string server;
    std::uint64_t seed = 1;
    std::optional<oracle::flaw> flaw;
};

/// A bad network in a thread, before which half of the processes are placed.
class network {
  public:
    network(const std::string& server, std::uint64_t seed)
        : work_(context_.get_executor()), random_(seed),
          proxy_(context_, server, [this](int) { return test::random_fault(random_); }) {}
    ~network() {
        context_.stop();
        if (thread_.joinable())
            thread_.join();
    }
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    /// When all processes have been forked.
    void start() {
        thread_ = std::thread{[this] { context_.run(); }};
    }
    [[nodiscard]] std::string address() const { return proxy_.address(); }

  private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::mt19937_64 random_;
    test::fault_proxy proxy_;
    std::thread thread_;
};

class run {
  public:
    explicit run(order o) : order_(std::move(o)) {
        if (order_.server.empty())
            order_.server = own_.emplace().unix_address();
    }

    [[nodiscard]] judgement all_rounds() {
        auto sum = judgement{};
        for (auto left = order_.checks; left > 0; left -= checks_per_round)
            add(sum, one_round(std::min(left, checks_per_round)));
        return sum;
    }

    [[nodiscard]] std::size_t losses() const noexcept { return losses_; }

  private:
    [[nodiscard]] judgement one_round(std::int64_t checks) {
        ++round_;
        const auto seed = order_.seed * 1'000'003 + static_cast<std::uint64_t>(round_) * 1'009;
        const auto prefix = "oracle-" + std::to_string(::getpid()) + '-' + std::to_string(round_);
        auto bad = std::optional<network>{};
        if (order_.faults)
            bad.emplace(order_.server, seed);
        auto tasks = std::vector<task>{};
        auto callers = processes{};
        for (auto p = 1; p <= order_.processes; ++p) {
            const auto share =
                checks / order_.processes + (p == 1 ? checks % order_.processes : std::int64_t{0});
            tasks.push_back({.server = bad && p % 2 == 0 ? bad->address() : order_.server,
                             .prefix = prefix,
                             .file = folder_.path() + '/' + std::to_string(p),
                             .checks = share,
                             .process = p,
                             .seed = seed + static_cast<std::uint64_t>(p)});
            callers.start(tasks.back(), order_.flaw);
        }
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed};
        if (bad) {
            bad->start();
            worse.make(prefix, [&] { return callers.have_ended(); });
        }
        while (!callers.have_ended())
            std::this_thread::sleep_for(5ms);
        losses_ += worse.losses().size();
        auto executed = order_.flaw ? read_totals_by_hand(order_.server, prefix)
                                    : read_totals(order_.server, prefix);
        for (std::size_t l = 0; l < limits.size(); ++l)
            for (std::size_t k = 0; k < keys_each; ++k)
                executed[l][k] += worse.executed()[l][k];
        auto records = std::vector<record>{};
        for (const auto& t : tasks)
            read_records(t.file, records);
        return judge(std::move(records), worse.losses(), executed);
    }

    order order_;
    std::optional<test::redis_server> own_;
    test::fresh_folder folder_;
    int round_ = 0;
    std::size_t losses_ = 0;
};

[[nodiscard]] bool run_on_one_server(const order& o) {
    auto r = run{o};
    const auto j = r.all_rounds();
    const auto unfinished = o.checks - j.checks + j.unfinished;
    std::cout << "granted " << j.granted << ", refused " << j.refused << ", unknown " << j.unknown
              << ", failed " << j.failed << ", losses of all state " << r.losses() << '\n'
              << "checks " << j.checks << ", over-admitted " << j.over_admitted
              << ", double-counted " << j.double_counted << ", unfinished " << unfinished
              << std::endl;
    return j.over_admitted == 0 && j.double_counted == 0 && unfinished == 0;
}

int main(int count, char** words) {
    auto o = order{};
    auto failovers = campaign_order{};
    auto app = CLI::App{"Many processes, their servers, and a checker that trusts neither."};
    app.add_option("--processes", o.processes, "who make the calls")
        ->check(CLI::Range(1, static_cast<int>(max_processes)));
    app.add_option("--seed", o.seed, "of what is random");
    const auto flaws = std::map<std::string, flaw>{{"nothing", flaw::none},
                                                   {"check_then_record", flaw::check_then_record},
                                                   {"off_by_one", flaw::off_by_one},
                                                   {"resend", flaw::resend},
                                                   {"client_clock", flaw::client_clock},
                                                   {"no_follow", flaw::no_follow}};
    app.add_option("--break", o.flaw, "a limiter with a mistake")
        ->transform(CLI::CheckedTransformer{flaws});
    auto is_sentinel = false;
    auto is_cluster = false;
    auto* const sentinel = app.add_flag("--sentinel", is_sentinel, "a master behind Sentinels");
    auto* const cluster = app.add_flag("--cluster", is_cluster, "a cluster")->excludes(sentinel);
    app.add_option("--failovers", failovers.failovers, "of each kind")->check(CLI::PositiveNumber);
    app.add_option("--kind", failovers.only, "the only kind of failovers");
    app.add_option("--within", failovers.within_ms,
                   "milliseconds in which first decisions must be made")
        ->check(CLI::PositiveNumber);
    for (auto* const one :
         {app.add_option("--checks", o.checks, "calls in all")->check(CLI::PositiveNumber),
          app.add_flag("--faults", o.faults, "servers die, freeze and forget; networks fail"),
          app.add_option("--server", o.server, "instead of a private one; it is not killed")})
        one->excludes(sentinel)->excludes(cluster);
    CLI11_PARSE(app, count, words);

    const auto is_campaign = is_sentinel || is_cluster;
    if (o.flaw && (*o.flaw == flaw::no_follow) != is_campaign)
        throw std::runtime_error{
            "--break no_follow is for --sentinel and --cluster, and other mistakes are not"};
    if (!is_campaign)
        return run_on_one_server(o) ? 0 : 1;
    if (is_cluster)
        failovers.deployment = campaign_order::deployment_kind::cluster;
    failovers.processes = o.processes;
    failovers.seed = o.seed;
    failovers.flaw = o.flaw;
    return run_campaign(failovers) ? 0 : 1;
}

} // namespace
} // namespace colimit::oracle

int main(int count, char** words) {
    try {
        return colimit::oracle::main(count, words);
    } catch (const std::exception& e) {
        std::cerr << "oracle: " << e.what() << '\n';
        return 2;
    }
}

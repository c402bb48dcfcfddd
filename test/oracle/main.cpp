// SPDX-License-Identifier: BSL-1.0
//
// oracle --checks N --processes P [--faults] [--server ADDRESS] [--seed S] [--break FLAW]
// oracle --leases [the same]
// oracle --requests [the same]
// oracle --slots [the same]
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
#include "lease_run.hpp"
#include "network.hpp"
#include "processes.hpp"
#include "records_file.hpp"
#include "request_run.hpp"
#include "slot_run.hpp"

#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>

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

void add(totals& to, const totals& more) {
    for (std::size_t l = 0; l < limits.size(); ++l)
        for (std::size_t k = 0; k < keys_each; ++k)
            to[l][k] += more[l][k];
}

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
            const auto& t = tasks.back();
            callers.start(
                p, [&] { order_.flaw ? call_by_hand(t, *order_.flaw) : call_by_limiter(t); });
        }
        auto killed = totals{}; // what servers had granted before that, except in the last moments
        auto worse = fault_injector{own_ ? &*own_ : nullptr, order_.server, seed,
                                    [&] { add(killed, read_totals(order_.server, prefix)); }};
        if (bad) {
            bad->start();
            worse.make([&] { return callers.have_ended(); });
        }
        while (!callers.have_ended())
            std::this_thread::sleep_for(5ms);
        losses_ += worse.losses().size();
        auto executed = order_.flaw ? read_totals_by_hand(order_.server, prefix)
                                    : read_totals(order_.server, prefix);
        add(executed, killed);
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

template<class Flaw>
using names_of = std::map<std::string, Flaw>;

const auto flaws = names_of<flaw>{{"nothing", flaw::none},
                                  {"check_then_record", flaw::check_then_record},
                                  {"off_by_one", flaw::off_by_one},
                                  {"resend", flaw::resend},
                                  {"client_clock", flaw::client_clock}};
const auto campaign_flaws = names_of<flaw>{{"no_follow", flaw::no_follow}};
const auto lease_flaws = names_of<lease_flaw>{{"nothing", lease_flaw::none},
                                              {"no_reserve", lease_flaw::no_reserve},
                                              {"direct_full", lease_flaw::direct_full},
                                              {"ignores_grant", lease_flaw::ignores_grant},
                                              {"from_arrival", lease_flaw::from_arrival},
                                              {"returns_lapsed", lease_flaw::returns_lapsed},
                                              {"past_end", lease_flaw::past_end}};

const auto slot_flaws = names_of<slot_flaw>{{"nothing", slot_flaw::none},
                                            {"check_then_add", slot_flaw::check_then_add},
                                            {"never_expires", slot_flaw::never_expires},
                                            {"ignores_loss", slot_flaw::ignores_loss},
                                            {"revives", slot_flaw::revives},
                                            {"from_arrival", slot_flaw::from_arrival},
                                            {"keeps_renewing", slot_flaw::keeps_renewing},
                                            {"forgets_token", slot_flaw::forgets_token}};
const auto request_flaws = names_of<bool>{{"forget_records", true}};

template<class Flaw>
[[nodiscard]] std::optional<Flaw> flaw_named(const std::string& name, const names_of<Flaw>& all) {
    if (name.empty())
        return {};
    const auto found = all.find(name);
    if (found != all.end())
        return found->second;
    auto known = std::string{};
    for (const auto& [other, flaw] : all)
        known += (known.empty() ? "" : ", ") + other;
    throw std::runtime_error{"--break: unknown mistake (got " + name + ", expected one of " +
                             known + ')'};
}

int main(int count, char** words) {
    auto o = order{};
    auto failovers = campaign_order{};
    auto app = CLI::App{"Many processes, their servers, and a checker that trusts neither."};
    app.add_option("--processes", o.processes, "who make the calls")
        ->check(CLI::Range(1, static_cast<int>(max_processes)));
    app.add_option("--seed", o.seed, "of what is random");
    auto broken = std::string{};
    app.add_option("--break", broken, "a limiter with a mistake");
    auto has_leases = false;
    auto* const leases =
        app.add_flag("--leases", has_leases, "the processes have leases, and are killed");
    auto has_requests = false;
    auto* const requests = app.add_flag("--requests", has_requests,
                                        "up to five calls with each of --checks request ids");
    requests->excludes(leases);
    auto has_slots = false;
    auto* const slots = app.add_flag("--slots", has_slots,
                                     "the processes acquire slots, and are killed and halted");
    slots->excludes(leases)->excludes(requests);
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
    leases->excludes(sentinel)->excludes(cluster);
    requests->excludes(sentinel)->excludes(cluster);
    slots->excludes(sentinel)->excludes(cluster);
    CLI11_PARSE(app, count, words);

    const auto is_campaign = is_sentinel || is_cluster;
    if (has_leases)
        return run_with_leases({.checks = o.checks,
                                .processes = o.processes,
                                .faults = o.faults,
                                .server = o.server,
                                .seed = o.seed,
                                .flaw = flaw_named(broken, lease_flaws)})
                   ? 0
                   : 1;
    if (has_slots)
        return run_with_slots({.checks = o.checks,
                               .processes = o.processes,
                               .faults = o.faults,
                               .server = o.server,
                               .seed = o.seed,
                               .flaw = flaw_named(broken, slot_flaws)})
                   ? 0
                   : 1;
    if (has_requests)
        return run_with_requests(
                   {.checks = o.checks,
                    .processes = o.processes,
                    .faults = o.faults,
                    .server = o.server,
                    .seed = o.seed,
                    .forgets_records = flaw_named(broken, request_flaws).value_or(false)})
                   ? 0
                   : 1;
    o.flaw = flaw_named(broken, is_campaign ? campaign_flaws : flaws);
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

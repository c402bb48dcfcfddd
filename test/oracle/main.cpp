// SPDX-License-Identifier: BSL-1.0
//
// oracle --checks N --processes P [--faults] [--server ADDRESS] [--seed S] [--break FLAW]
// oracle --leases | --requests | --slots [the same]
// oracle --sentinel | --cluster [--failovers N] [--kind KIND] [--within MS] ...
//
// P processes hammer a few shared keys under several limits and write down every decision with the
// server's time. Afterwards a checker that shares no code with the limiter goes through all of it:
// is there any window in which more was granted than the model allows, and did the server grant
// more than was asked for? Ends with 1 if so. The last form makes failovers meanwhile.

#include "board.hpp"
#include "run.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace colimit::oracle {
namespace {

/// Where a mistake can be made.
enum where : unsigned { calls = 1, requests = 2, leases = 4, slots = 8, failovers = 16 };

struct named_flaw {
    std::string_view name;
    oracle::flaw flaw;
    unsigned in;
};

constexpr named_flaw flaws[] = {{"nothing", flaw::nothing, calls | leases | slots},
                                {"check_then_record", flaw::check_then_record, calls},
                                {"off_by_one", flaw::off_by_one, calls},
                                {"resend", flaw::resend, calls},
                                {"client_clock", flaw::client_clock, calls},
                                {"no_reserve", flaw::no_reserve, leases},
                                {"direct_full", flaw::direct_full, leases},
                                {"ignores_grant", flaw::ignores_grant, leases},
                                {"from_arrival", flaw::from_arrival, leases | slots},
                                {"returns_lapsed", flaw::returns_lapsed, leases},
                                {"past_end", flaw::past_end, leases},
                                {"check_then_add", flaw::check_then_add, slots},
                                {"never_expires", flaw::never_expires, slots},
                                {"ignores_loss", flaw::ignores_loss, slots},
                                {"revives", flaw::revives, slots},
                                {"keeps_renewing", flaw::keeps_renewing, slots},
                                {"forgets_token", flaw::forgets_token, slots},
                                {"forget_records", flaw::forget_records, requests},
                                {"no_follow", flaw::no_follow, failovers}};

[[nodiscard]] flaw flaw_named(const std::string& name, const order& o) {
    const auto in =
        o.servers != servers::one ? where::failovers : where{1U << static_cast<unsigned>(o.mode)};
    auto known = std::string{};
    for (const auto& f : flaws) {
        if ((f.in & in) == 0)
            continue;
        if (f.name == name)
            return f.flaw;
        known += (known.empty() ? "" : ", ") + std::string{f.name};
    }
    throw std::runtime_error{"--break: no mistake of such a run (got " + name +
                             ", expected one of " + known + ')'};
}

[[nodiscard]] order order_of(int count, char** words, CLI::App& app) {
    const auto positive = CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
    auto o = order{};
    app.add_option("--processes", o.processes, "processes that call")
        ->check(CLI::Range(1, static_cast<int>(max_processes)));
    app.add_option("--seed", o.seed, "of what is random");
    auto broken = std::string{};
    app.add_option("--break", broken, "a limiter with a mistake");
    auto* const one = app.add_option_group("one server");
    one->add_option("--checks", o.checks, "calls in all")->check(positive);
    one->add_flag("--faults", o.has_faults, "servers die, freeze and forget; networks fail");
    one->add_option("--server", o.server, "instead of a private one; it is not killed");
    auto* const has_leases =
        one->add_flag("--leases")->description("the processes have leases, and are killed");
    auto* const has_requests =
        one->add_flag("--requests")
            ->description("up to five calls with each of --checks request ids");
    auto* const has_slots = one->add_flag("--slots")->description(
        "the processes acquire slots, and are killed and halted");
    auto* const many = app.add_option_group("failovers");
    auto* const sentinel = many->add_flag("--sentinel")->description("a master behind Sentinels");
    auto* const cluster = many->add_flag("--cluster")->description("a cluster");
    many->add_option("--failovers", o.failovers, "of each kind")->check(positive);
    many->add_option("--kind", o.only, "the only kind of failovers");
    many->add_option("--within", o.within_ms, "milliseconds in which first decisions must be made")
        ->check(positive);
    has_requests->excludes(has_leases);
    has_slots->excludes(has_leases)->excludes(has_requests);
    cluster->excludes(sentinel);
    app.parse(count, words);

    for (auto* const option : one->get_options())
        if (*option && (*sentinel || *cluster))
            throw std::runtime_error{option->get_name() + " is for runs without failovers"};
    for (auto* const option : many->get_options())
        if (*option && !*sentinel && !*cluster)
            throw std::runtime_error{option->get_name() + " needs --sentinel or --cluster"};
    o.mode = *has_leases     ? mode::leases
             : *has_requests ? mode::requests
             : *has_slots    ? mode::slots
                             : mode::calls;
    o.servers = *sentinel ? servers::sentinel : *cluster ? servers::cluster : servers::one;
    if (!broken.empty())
        o.flaw = flaw_named(broken, o);
    return o;
}

int main(int count, char** words) {
    auto app = CLI::App{"Many processes, their servers, and a checker that trusts neither."};
    try {
        const auto o = order_of(count, words, app);
        const auto is_well =
            o.servers == servers::one ? run_on_one_server(o) : run_with_failovers(o);
        return is_well ? 0 : 1;
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const std::exception& e) {
        std::cerr << "oracle: " << e.what() << '\n';
        return 2;
    }
}

} // namespace
} // namespace colimit::oracle

int main(int count, char** words) {
    return colimit::oracle::main(count, words);
}

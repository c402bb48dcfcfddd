// SPDX-License-Identifier: BSL-1.0
//
// simulation [--seeds N] [--seed S] [--jobs J] [--trace] [--break FLAW] | --storm | --hash
//
// Each seed is one run of the client in a simulated world, see run.hpp. Ends with 1 if a property
// does not hold in one of them; its seed is printed, and runs it again.

#include "campaign.hpp"
#include "run.hpp"
#include "storm.hpp"

#include <hash/process_secret.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace colimit::simulation {
namespace {

const std::map<std::string, flaw> flaws{
    {"nothing", flaw::none},
    {"executes_twice", flaw::executes_twice},
    {"forgets", flaw::forgets},
    {"loses_timers", flaw::loses_timers},
    {"equal_jitter", flaw::equal_jitter},
    {"varies", flaw::varies},
    {"never_elects", flaw::never_elects},
    {"loses_sockets", flaw::loses_sockets},
    {"answers_another", flaw::answers_another},
};

/// Prints the most clients that come back in a tenth of a second, in percent.
int print_storm(const run_settings& settings) {
    for (const auto delay : {250, 500, 1'000, 1'500, 2'000})
        for (const auto away : {100, 500, 2'000, 10'000}) {
            const auto r =
                run_storm(settings.seed, settings.flaw, away * millisecond, delay * millisecond);
            const auto percent = [&](std::size_t n) {
                return static_cast<double>(n) * 100 / static_cast<double>(r.clients);
            };
            std::cout << "reconnect_delay_max " << delay << " ms, away " << away
                      << " ms: attempts " << percent(r.attempts) << " %, reconnects "
                      << percent(r.reconnects) << " %, the last after " << r.last / millisecond
                      << " ms, returned " << r.returned << '\n';
        }
    return 0;
}

int main_of(int argc, char** argv) {
    auto app = CLI::App{"Runs the client against simulated servers, networks and clocks"};
    auto order = campaign{};
    auto is_storm = false;
    auto is_hash = false;
    app.add_option("--seeds", order.seeds, "The number of runs")->check(CLI::PositiveNumber);
    app.add_option("--seed", order.run.seed, "The first seed");
    app.add_option("--jobs", order.jobs, "The number of processes")->check(CLI::Range(1, 1'024));
    app.add_flag("--trace", order.run.prints_trace, "Print what happens");
    app.add_flag("--storm", is_storm, "How a thousand clients reconnect");
    app.add_flag("--hash", is_hash, "Print a digest of what happens");
    app.add_option("--break", order.run.flaw, "A mistake of the simulated world")
        ->transform(CLI::CheckedTransformer(flaws));
    CLI11_PARSE(app, argc, argv);
    (void)hash::process_secret(); // it is one for all runs of a process, and equal in all processes
    if (is_storm)
        return print_storm(order.run);
    if (is_hash) {
        std::cout << hash_of(order) << '\n';
        return 0;
    }
    return run_all(order) ? 0 : 1;
}

} // namespace
} // namespace colimit::simulation

int main(int argc, char** argv) {
    try {
        return colimit::simulation::main_of(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "simulation: " << e.what() << '\n';
        return 2;
    }
}

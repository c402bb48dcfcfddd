// SPDX-License-Identifier: BSL-1.0
//
// simulation [--seeds N] [--seed S] [--jobs J] [--trace] [--break FLAW]

#include "run.hpp"

#include <hash/process_secret.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

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

} // namespace
} // namespace colimit::simulation

int main(int argc, char** argv) {
    using namespace colimit::simulation;
    auto app = CLI::App{"Deterministic simulation"};
    auto seeds = std::uint64_t{1'000};
    auto settings = run_settings{};
    app.add_option("--seeds", seeds, "How many");
    app.add_option("--seed", settings.seed, "The first one");
    app.add_flag("--trace", settings.prints_trace, "Print what happens");
    app.add_option("--break", settings.flaw, "A mistake of the simulated world")
        ->transform(CLI::CheckedTransformer(flaws));
    CLI11_PARSE(app, argc, argv);
    (void)colimit::hash::process_secret(); // one for all runs
    auto failures = 0;
    auto calls = std::uint64_t{0};
    for (std::uint64_t i = 0; i < seeds; ++i) {
        const auto result = run(settings);
        calls += result.calls;
        if (!result.problem.empty()) {
            ++failures;
            std::cout << "seed " << settings.seed << ": " << result.problem << '\n';
        }
        ++settings.seed;
    }
    std::cout << "seeds " << seeds << ", calls " << calls << ", failed " << failures << '\n';
    return failures == 0 ? 0 : 1;
}

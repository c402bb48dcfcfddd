// SPDX-License-Identifier: BSL-1.0
//
// The command line and the output. Started by benchmark/run, which provides the server and the
// cores.

#include <scenarios.hpp>
#include <support/allocation_count.hpp>
#include <support/chart.hpp>
#include <support/machine.hpp>
#include <support/report.hpp>
#include <support/runner.hpp>
#include <support/server.hpp>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace colimit::benchmark {
namespace {

/// Above this load, other programs use the cores.
constexpr auto quiet_load = 0.5;

struct options {
    conditions each{.socket = {},
                    .scripts = {},
                    .tcp = {},
                    .cluster = {},
                    .nodes = {},
                    .seconds = 3,
                    .warm_up = 1'000'000};
    std::size_t rounds = 5;
    bool rivals = false;
    std::vector<std::string> only;
    std::string out;
    std::string chart;
    std::string revision = "unknown";
};

[[nodiscard]] std::string complaint_about(const std::string& name) {
    const auto known = std::ranges::find(scenarios, name, &scenario::name) != scenarios.end();
    return known ? std::string{} : "there is no scenario " + name;
}

/// Returns the requested scenarios; without a request, all that need no rival and no cluster, or
/// with a cluster those that need one.
[[nodiscard]] std::vector<std::string_view> wanted(const options& o) {
    auto names = std::vector<std::string_view>{o.only.begin(), o.only.end()};
    for (const auto& s : scenarios)
        if (s.first == needs::rival
                ? o.rivals
                : o.only.empty() && (s.first == needs::cluster) == !o.each.cluster.empty())
            names.push_back(s.name);
    return names;
}

[[nodiscard]] report about(const options& o) {
    auto r = report{.machine = machine(),
                    .date = date(),
                    .revision = o.revision,
                    .compiler = compiler(),
                    .boost = BOOST_LIB_VERSION,
                    .server = "redis-server " + server{o.each.socket}.version(),
                    .load_average_before = load_average(),
                    .seconds_per_round = o.each.seconds,
                    .rounds = o.rounds,
                    .warnings = {},
                    .left_out = {},
                    .results = {}};
    if (r.load_average_before > quiet_load)
        r.warnings.emplace_back("the machine was not quiet when the run began: the figures are for "
                                "trying, not for quoting");
    return r;
}

void read_arguments(CLI::App& app, options& o) {
    app.add_option("--socket", o.each.socket, "The server's unix socket")->required();
    app.add_option("--scripts", o.each.scripts, "The folder of reference.lua")->required();
    app.add_option("--tcp", o.each.tcp, "The server's address with TCP");
    app.add_option("--cluster", o.each.cluster, "The address of a cluster, for cluster_...");
    app.add_option("--nodes", o.each.nodes, "The unix sockets of its masters")->delimiter(',');
    const auto quick = [&o](std::int64_t /*how_often*/) {
        o.rounds = 3;
        o.each.seconds = 0.5;
        o.each.warm_up = 300'000;
    };
    app.add_flag_function("--quick", quick, "Less precise, in less time");
    app.add_option("--rounds", o.rounds, "How often each scenario runs")
        ->check(CLI::Range(1, 1000));
    app.add_option("--seconds", o.each.seconds, "How long each time, after the warm-up")
        ->check(CLI::Range(0.1, 600.0));
    app.add_flag("--rivals", o.rivals, "The rivals too");
    app.add_option("--only", o.only, "Scenarios to run: NAME[,NAME]")
        ->delimiter(',')
        ->check(complaint_about);
    app.add_option("--out", o.out, "Where to write the JSON");
    app.add_option("--chart", o.chart, "Where to write a picture, as SVG");
    app.add_option("--revision", o.revision, "Of the sources, for the report");
}

/// Opens the file before anything is measured, rather than when minutes of it would be lost.
[[nodiscard]] std::ofstream opened(const std::string& path) {
    auto file = std::ofstream{};
    if (path.empty())
        return file;
    file.open(path);
    if (!file)
        throw std::runtime_error{"cannot write " + path};
    return file;
}

int run(const options& o) {
    if (!counts_every_allocation())
        throw std::runtime_error{"allocations go unnoticed here: the figures would be wrong"};
    auto out = opened(o.out);
    auto chart = opened(o.chart);
    auto r = about(o);
    for (const auto& warning : r.warnings)
        std::cerr << "warning: " << warning << '\n';
    auto all = runner{scenarios, o.each, o.rounds};
    all.run(wanted(o));
    r.results = all.results();
    r.left_out = all.left_out();
    print_table(std::cout, r);
    if (out.is_open())
        write_json(out, r);
    if (chart.is_open())
        write_chart(chart, r);
    return 0;
}

} // namespace
} // namespace colimit::benchmark

int main(int argc, char** argv) {
    using namespace colimit::benchmark;
    auto o = options{};
    auto app = CLI::App{"colimit's benchmark; see benchmark/run"};
    read_arguments(app, o);
    CLI11_PARSE(app, argc, argv);
    try {
        return run(o);
    } catch (const std::exception& e) {
        std::cerr << "benchmark: " << e.what() << '\n';
        return 1;
    }
}

// SPDX-License-Identifier: BSL-1.0
//
// Asks the questions in turn, each several times, each after the one it is compared with. Started
// by benchmark/run, which provides the server and the cores.

#include <questions.hpp>
#include <support/allocation_count.hpp>
#include <support/machine.hpp>
#include <support/report.hpp>
#include <support/server.hpp>

#include <CLI/CLI.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <unistd.h>

namespace colimit::benchmark {
namespace {

/// Above this, somebody else wants the cores.
constexpr auto quiet_load = 0.5;

struct options {
    conditions each;
    std::size_t rounds = 5;
    bool quick = false;
    std::vector<std::string> only;
    std::string out;
    std::string revision = "unknown";
};

[[nodiscard]] const question* find(std::string_view name) {
    const auto* found = std::ranges::find(questions, name, &question::name);
    return found == questions.end() ? nullptr : found;
}

/// A line on a terminal that the next one replaces.
void show_progress(const std::string& line) {
    if (isatty(STDERR_FILENO) == 1)
        std::cerr << "\r\033[K" << line << std::flush;
}

using answers = std::map<std::string_view, std::vector<measurement>>;

measurement ask(const question& q, const options& o, const std::string& round) {
    show_progress(std::string{q.name} + ", round " + round);
    try {
        return q.measure(o.each);
    } catch (const std::exception& e) {
        show_progress("");
        throw std::runtime_error{std::string{q.name} + ": " + e.what()};
    }
}

/// All rounds of a question. What it is compared with gets one more row of answers by the way.
[[nodiscard]] result answer(const question& q, const options& o, answers& baselines) {
    const auto* other = find(q.compared_with);
    auto mine = std::vector<measurement>{};
    auto others = std::vector<measurement>{};
    for (auto i = std::size_t{1}; i <= o.rounds; ++i) {
        const auto round = std::to_string(i) + " of " + std::to_string(o.rounds);
        if (other != nullptr)
            others.push_back(ask(*other, o, round + " of " + std::string{q.name}));
        mine.push_back(ask(q, o, round));
    }
    if (other != nullptr) {
        auto& all = baselines[other->name];
        all.insert(all.end(), others.begin(), others.end());
    }
    return summarize(q, mine, others);
}

[[nodiscard]] bool is_wanted(const question& q, const options& o) {
    return o.only.empty() || std::ranges::find(o.only, q.name) != o.only.end();
}

[[nodiscard]] bool is_baseline(const question& q) {
    return std::ranges::find(questions, q.name, &question::compared_with) != questions.end();
}

/// In the order of the table. A baseline is asked on its own only if nothing wanted needs it.
[[nodiscard]] std::vector<result> answer_all(const options& o) {
    auto made = std::map<std::string_view, result>{};
    auto baselines = answers{};
    for (const auto& q : questions)
        if (!is_baseline(q) && is_wanted(q, o))
            made[q.name] = answer(q, o, baselines);
    for (const auto& q : questions)
        if (const auto found = baselines.find(q.name); found != baselines.end())
            made[q.name] = summarize(q, found->second, {});
        else if (is_baseline(q) && is_wanted(q, o))
            made[q.name] = answer(q, o, baselines);
    show_progress("");
    auto in_order = std::vector<result>{};
    for (const auto& q : questions)
        if (const auto found = made.find(q.name); found != made.end())
            in_order.push_back(found->second);
    return in_order;
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
                    .warnings = {},
                    .results = {}};
    if (r.load_average_before > quiet_load)
        r.warnings.emplace_back("the machine was not quiet when the run began: the figures are for "
                                "trying, not for quoting");
    return r;
}

void read_arguments(CLI::App& app, options& o) {
    app.add_option("--socket", o.each.socket, "The server's unix socket")->required();
    app.add_option("--scripts", o.each.scripts, "The folder of reference.lua")->required();
    app.add_flag("--quick", o.quick, "Less precise, in less time");
    app.add_option("--only", o.only, "Questions to ask: NAME[,NAME]")
        ->delimiter(',')
        ->check([](const std::string& name) {
            return find(name) != nullptr ? std::string{} : "there is no question " + name;
        });
    app.add_option("--out", o.out, "Where to write the JSON");
    app.add_option("--revision", o.revision, "Of the sources, for the report");
}

int run(const options& o) {
    if (!counts_every_allocation())
        throw std::runtime_error{"allocations go unnoticed here: the figures would be wrong"};
    auto out = std::ofstream{};
    if (!o.out.empty()) {
        out.open(o.out);
        if (!out)
            throw std::runtime_error{"cannot write " + o.out};
    }
    auto r = about(o);
    for (const auto& warning : r.warnings)
        std::cerr << "warning: " << warning << '\n';
    r.results = answer_all(o);
    print_table(std::cout, r);
    if (out.is_open())
        write_json(out, r);
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
    o.rounds = o.quick ? 3 : 5;
    o.each.seconds = o.quick ? 0.5 : 3;
    o.each.warm_up = o.quick ? 300'000 : 1'000'000;
    try {
        return run(o);
    } catch (const std::exception& e) {
        std::cerr << "benchmark: " << e.what() << '\n';
        return 1;
    }
}

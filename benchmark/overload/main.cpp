// SPDX-License-Identifier: BSL-1.0
//
// Simulates a server whose clients give up after a while, with and without an adaptive limit, under
// steady load, while something that it depends on is slow, under overload, and after each. One seed
// gives one result.

#include <overload/report.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    namespace overload = colimit::benchmark::overload;
    auto seed = std::uint64_t{1};
    auto svg = std::string{};
    auto app = CLI::App{"Simulates an overloaded server with and without an adaptive limit"};
    app.add_option("--seed", seed, "Of the random times of requests");
    app.add_option("--svg", svg, "Also draw a picture")->type_name("FILE");
    CLI11_PARSE(app, argc, argv);

    const auto all = overload::usual_scenario(seed);
    const auto records = overload::compare(all);
    if (!(std::cout << overload::table(all, records) << std::flush)) {
        std::cerr << "overload: cannot write to standard output\n";
        return 1;
    }
    if (!svg.empty() && !(std::ofstream{svg} << overload::picture(all, records) << std::flush)) {
        std::cerr << "overload: cannot write " << svg << '\n';
        return 1;
    }
    return 0;
}

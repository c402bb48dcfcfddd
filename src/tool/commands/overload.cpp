// SPDX-License-Identifier: BSL-1.0
//
// colimit overload: a simulated server with and without an adaptive limit.

#include <tool/commands/table.hpp>
#include <tool/frame/screen.hpp>
#include <tool/overload/picture.hpp>
#include <tool/overload/server.hpp>
#include <tool/overload/table.hpp>

#include <boost/json/array.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tool {
namespace {

boost::json::object object_of(const overload::scenario& all,
                              const std::vector<overload::record>& records) {
    boost::json::array servers;
    for (const auto& server : records) {
        boost::json::array phases;
        for (std::size_t i = 0; i < all.phases.size(); ++i) {
            const auto sum = server.of(all, i);
            const auto range = overload::limits(all, server, i);
            phases.push_back(boost::json::object{{"phase", all.phases[i].name},
                                                 {"in_time", sum.in_time},
                                                 {"late", sum.late},
                                                 {"denied", sum.denied},
                                                 {"limit_min", range.least},
                                                 {"limit_max", range.most}});
        }
        servers.push_back(
            boost::json::object{{"server", server.name}, {"phases", std::move(phases)}});
    }
    return {{"seed", all.seed}, {"servers", std::move(servers)}};
}

struct overload_options {
    std::uint64_t seed = 1;
    std::string svg;

    void declare(CLI::App& app) {
        app.add_option("--seed", seed, "Of the random times of requests");
        app.add_option("--svg", svg, "Also draw a picture")->type_name("FILE");
    }

    int run(output& out) const {
        const auto all = overload::usual_scenario(seed);
        const auto records = overload::compare(all);
        if (out.is_json())
            out.object(object_of(all, records));
        else
            out.text(table(all, records));
        if (!svg.empty())
            write_file(svg, picture(all, records));
        return exit_allowed;
    }
};

} // namespace

command overload_command() {
    return {.name = "overload",
            .summary = "Simulate an overloaded server with and without an adaptive limit",
            .text = {"A server whose clients give up after a while: under steady load, while "
                     "something that it depends on is slow, under overload, and after each. "
                     "Without a limit its queue grows until all requests are answered too late. "
                     "adaptive_limit denies at once what would wait, with each algorithm (the "
                     "defaults, but the limit begins with the number of workers). Time is "
                     "simulated; one seed gives one result."},
            .examples = {{"overload --svg picture.svg", "the table, and a picture"}},
            .declare = declaration_of<overload_options>()};
}

} // namespace tool

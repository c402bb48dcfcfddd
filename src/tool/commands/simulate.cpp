// SPDX-License-Identifier: BSL-1.0
//
// colimit simulate: how rules answer the same traffic.

#include <tool/commands/table.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/screen.hpp>
#include <tool/simulate/report.hpp>
#include <tool/simulate/run.hpp>

#include <colimit/rule_text.hpp>

#include <boost/json/array.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tool {
namespace {

constexpr std::int64_t usual_limit = 10;
constexpr auto usual_period = std::chrono::minutes{1};

boost::json::object object_of(const simulate::comparison& all) {
    boost::json::array rules;
    for (const auto& row : all.rows) {
        boost::json::array traffic;
        for (std::size_t i = 0; i < row.answers.size(); ++i)
            traffic.push_back(boost::json::object{{"traffic", all.scenarios.all.at(i).name},
                                                  {"requests", row.answers[i].allowed.size()},
                                                  {"allowed", row.answers[i].granted},
                                                  {"peak", row.answers[i].most_in_period}});
        rules.push_back(boost::json::object{
            {"algorithm", row.algorithm}, {"rule", row.rule}, {"traffic", std::move(traffic)}});
    }
    return {{"limit", all.scenarios.limit},
            {"period_us", all.scenarios.period.count()},
            {"rules", std::move(rules)}};
}

struct simulate_options {
    std::vector<std::string> rules;
    std::string svg;
    screen_options screen;

    void declare(CLI::App& app) {
        app.add_option("--rule", rules,
                       "A rule to compare; give it several times (default: each algorithm with a "
                       "limit of 10 per minute)")
            ->type_name("TEXT")
            ->check(not_empty())
            ->allow_extra_args(false);
        declare_picture(app, svg, "Also draw the comparison");
        screen.declare(app);
    }

    [[nodiscard]] std::vector<colimit::rule> compared() const {
        if (rules.empty())
            return simulate::usual_rules(usual_limit, usual_period);
        std::vector<colimit::rule> all;
        for (const auto& text : rules)
            for (const auto& rule : colimit::parse_rules(text))
                all.push_back(rule);
        return all;
    }

    int run(output& out) const {
        screen.refuse_beside(out);
        const auto tried = compared();
        require_no_places(tried, "rules of other kinds");
        require_no_members(tried, "simulate");
        const auto all = simulate::compare(tried);
        if (out.is_json())
            out.object(object_of(all));
        else
            out.text(table(all, screen.columns(), screen.is_unicode()));
        if (!svg.empty())
            write_file(svg, picture(all));
        return exit_allowed;
    }
};

} // namespace

command simulate_command() {
    return {.name = "simulate",
            .summary = "Compare how rules answer the same traffic",
            .text = {"Four kinds of traffic of one client, in proportion to the limit and the "
                     "period of the first rule: steady (twice the limit), window edge (the limit "
                     "just before a window ends, and again just after), double burst (1.5 times "
                     "the limit, twice) and slow drip (two thirds of the limit). Each rule is "
                     "alone. The peak is the largest number of requests that were allowed within "
                     "any one period. No server is used, and nothing is random."},
            .examples = {{"simulate --svg picture.svg", "all algorithms, and a picture"},
                         {"simulate --rule '100/h fixed_window' --rule '100/h burst 20'",
                          "two rules for the same limit"}},
            .json = R"({"command": "simulate", "limit": 10, "period_us": 60000000,
 "rules": [{"algorithm": "fixed_window", "rule": "10/m fixed_window",
            "traffic": [{"traffic": "window edge", "requests": 20,
                         "allowed": 20, "peak": 20}]}]})",
            .declare = declaration_of<simulate_options>()};
}

} // namespace tool

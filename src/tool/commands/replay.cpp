// SPDX-License-Identifier: BSL-1.0
//
// colimit replay: which clients a limit would have denied, how often and when. Reading order of
// replay/: access_log (a line), unpacked_file and lines (a file), history (a log), limits and run
// (through the limiter), then the output: statistics, timeline, report, chart.

#include <policy_json/document.hpp>
#include <tool/commands/table.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/screen.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/replay/chart.hpp>
#include <tool/replay/history.hpp>
#include <tool/replay/report.hpp>
#include <tool/replay/run.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {
namespace {

namespace json = boost::json;

constexpr auto usual_replay_rule = "5/s burst 10";

std::string second(colimit::time_point time) {
    return utc(std::chrono::floor<std::chrono::seconds>(time));
}

json::array rules_of(const replay::subject& what, const replay::statistics& found) {
    json::array rules;
    for (std::size_t i = 0; i < what.rules.size(); ++i)
        rules.push_back(
            json::object{{"rule", what.rules[i]}, {"denied", found.limited_by_rule[i]}});
    return rules;
}

json::array clients_of(const replay::history& log, const replay::statistics& found,
                       std::size_t top) {
    json::array clients;
    for (std::size_t i = 0; i < std::min(top, found.clients_limited.size()); ++i) {
        const auto& c = found.clients_limited[i];
        clients.push_back(json::object{{"client", json_text(log.clients[c.client])},
                                       {"requests", c.requests},
                                       {"denied", c.limited},
                                       {"first_denied", utc(c.first_limited)},
                                       {"last_denied", utc(c.last_limited)}});
    }
    return clients;
}

json::array unreadable_lines(const replay::history& log) {
    json::array lines;
    for (const auto& line : log.first_unreadable)
        lines.push_back(json::object{
            {"line", line.number}, {"text", line.text}, {"problem", json_text(line.problem)}});
    return lines;
}

/// Times are those of utc(); counts are numbers.
json::object report_object(const replay::subject& what, const replay::history& log,
                           const replay::statistics& found, std::size_t top) {
    return {{"log", what.log},
            {"store", what.store},
            {"first", second(log.requests.front().time)},
            {"last", second(log.requests.back().time)},
            {"requests", found.requests},
            {"denied", found.limited},
            {"unlimited", found.unlimited},
            {"rules", rules_of(what, found)},
            {"clients", found.clients},
            {"clients_denied", found.clients_limited.size()},
            {"clients_denied_most", clients_of(log, found, top)},
            {"out_of_order", log.out_of_order},
            {"unreadable", log.unreadable},
            {"first_unreadable", unreadable_lines(log)}};
}

struct replay_options {
    std::string log;
    policy_options what;
    std::string server = "memory:";
    std::string format = "access";
    replay::json_fields fields;
    const CLI::Option* key_field = nullptr;
    const CLI::Option* time_field = nullptr;
    std::string svg;
    std::size_t top = 10;
    screen_options screen;

    void declare(CLI::App& app) {
        app.add_option("LOG", log, "The log, plain or gzip; - reads standard input")->required();
        what.declare(app);
        app.add_option("--format", format, "Common and combined format, or JSON lines")
            ->type_name("NAME")
            ->check(CLI::IsMember({"access", "json"}))
            ->capture_default_str();
        key_field = app.add_option("--key-field", fields.key,
                                   "With --format json: the field that is limited, such as user.id")
                        ->type_name("PATH")
                        ->check(not_empty())
                        ->capture_default_str();
        time_field =
            app.add_option("--time-field", fields.time, "With --format json: the field of the time")
                ->type_name("PATH")
                ->check(not_empty())
                ->capture_default_str();
        app.add_option("--server", server,
                       "Where to count: memory:, redis://[user:password@]host[:port][/db], "
                       "unix:/path, or env:NAME, the address in an environment variable")
            ->type_name("ADDRESS")
            ->transform(address_of_variable())
            ->capture_default_str();
        declare_picture(app, svg, "Also draw requests and denials over time");
        app.add_option("--top", top, "Clients to list")
            ->type_name("N")
            ->check(whole_number(0, 1'000'000'000))
            ->capture_default_str();
        screen.declare(app);
    }

    [[nodiscard]] replay::limits limits() const {
        auto chosen = what;
        if (!what.is_given())
            chosen.rules = {usual_replay_rule};
        const auto document = chosen.document();
        if (!document)
            return replay::limits{chosen.policy_in(document)};
        const auto is_json = format == "json";
        if (!what.name.empty() || !colimit::json::has_routes(*document))
            return {*document, chosen.policy_in(document).name(), !is_json};
        if (is_json)
            throw std::runtime_error{"--policy: missing, as a log of JSON lines has no routes"};
        return replay::limits{*document};
    }

    int run(output& out) const {
        for (const auto* const field : {key_field, time_field})
            if (format != "json")
                refuse_given(field, "only with --format json");
        if (!what.rules.empty() && !what.name.empty())
            throw std::runtime_error{"--policy: only with --policies"};
        screen.refuse_beside(out);
        require_other_file(svg, {log, what.file});
        const auto tried = limits();
        for (const auto& p : tried.policies()) {
            require_no_places(p.rules(), "rules of other kinds");
            require_no_members(p.rules(), "a log");
        }
        replay::progress shown{isatty(STDERR_FILENO) == 1};
        const auto log = replay::load(
            this->log, tried, format == "json" ? std::optional{fields} : std::nullopt, shown);
        const auto verdicts = replay::run(log, tried, server, shown);
        const replay::subject what_was_tried{escaped(this->log), tried.rules(),
                                             without_password(server)};
        const auto found = replay::count(log, verdicts, what_was_tried.rules.size());
        if (out.is_json())
            out.object(report_object(what_was_tried, log, found, top));
        else
            out.text(report(what_was_tried, log, found, verdicts));
        if (!svg.empty())
            write_file(
                svg, replay::svg(what_was_tried, found,
                                 replay::make_timeline(log.requests, verdicts, replay::svg_steps)));
        return exit_allowed;
    }

  private:
    [[nodiscard]] std::string report(const replay::subject& tried, const replay::history& log,
                                     const replay::statistics& found,
                                     const std::vector<replay::verdict>& verdicts) const {
        const replay::layout form{screen.columns(), top, screen.is_unicode()};
        const auto columns = form.width - std::min(form.width - 1, replay::chart_margin);
        return replay::report(tried, log, found,
                              replay::make_timeline(log.requests, verdicts, columns), form);
    }
};

} // namespace

command replay_command() {
    return {.name = "replay",
            .summary = "Show which clients of an access log a limit would have denied",
            .text = {"Reads a log and passes each request to a limiter, with the time of the log "
                     "as its clock. By default the key is the client's address, of IPv6 its /64, "
                     "and the rule is '5/s burst 10'. With --policy the keys are those of the "
                     "policy. With --policies alone, the routes of the document decide "
                     "which policies limit a request of an access log, and under which keys.",
                     "On a server it counts under a prefix of its own, and removes what it wrote."},
            .examples = {{"replay access.log --rule '5/s burst 10; 100/m' --svg picture.svg",
                          "two rules that must both allow, and a picture"},
                         {"replay access.log.1.gz --policies policies.json",
                          "the policies and routes of a service"},
                         {"replay requests.jsonl --format json --key-field user.id "
                          "--time-field ts --rule 100/m",
                          "JSON lines, and a limit for each user"}},
            .json = R"({"command": "replay", "log": "access.log", "store": "memory:",
 "first": "2024-03-12 08:00:11", "last": "2024-03-12 09:58:49",
 "requests": 2233, "denied": 655, "unlimited": 0,
 "rules": [{"rule": "5/s burst 10", "denied": 655}], "clients": 94,
 "clients_denied": 2,
 "clients_denied_most": [{"client": "203.0.113.77", "requests": 540,
                          "denied": 420,
                          "first_denied": "2024-03-12 08:40:23",
                          "last_denied": "2024-03-12 09:38:40"}],
 "out_of_order": 169, "unreadable": 3,
 "first_unreadable": [{"line": 1402,
                       "text": "198.51.100.4 - - [12/Mar/2024:09:55:",
                       "problem": "has no [dd/Mon/yyyy:hh:mm:ss +hhmm] ..."}]})",
            .declare = declaration_of<replay_options>()};
}

} // namespace tool

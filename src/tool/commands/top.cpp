// SPDX-License-Identifier: BSL-1.0
//
// colimit top: the most limited keys, live.

#include <colimit/detail/access.hpp>
#include <policy/policy_data.hpp>
#include <tool/commands/table.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/top/ranking.hpp>
#include <tool/top/reader.hpp>

#include <boost/json/array.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {
namespace {

constexpr auto clear_screen = "\x1b[H\x1b[2J";

[[nodiscard]] std::string cell(const std::string& text, std::size_t width) {
    return text.size() >= width ? text + ' ' : std::string(width - text.size(), ' ') + text + ' ';
}

[[nodiscard]] std::string number_text(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value); // NOLINT(*-vararg)
    return text.data();
}

[[nodiscard]] std::string line_text(const ranked& r) {
    const auto left = r.left ? std::to_string(*r.left) : "?";
    const auto limit = r.limit ? std::to_string(*r.limit) : "?";
    return cell(r.is_denied ? "denied" : "", 6) + cell(left, 8) + cell(limit, 8) +
           cell(number_text(r.used), 10) + cell(r.rate ? number_text(*r.rate) : "", 10) +
           shown(r.policy) + "  " + shown(r.key) + '\n';
}

[[nodiscard]] boost::json::object line_value(const ranked& r) {
    auto value = boost::json::object{{"key", json_text(r.key)}, {"policy", json_text(r.policy)},
                                     {"left", nullptr},         {"limit", nullptr},
                                     {"used", r.used},          {"denied", nullptr},
                                     {"rate", nullptr}};
    if (r.left) {
        value["left"] = *r.left;
        value["denied"] = r.is_denied;
    }
    if (r.limit)
        value["limit"] = *r.limit;
    if (r.rate)
        value["rate"] = *r.rate;
    return value;
}

struct top_options {
    server_options server;
    policy_options what;
    std::size_t count = 20;
    double interval = 2;
    std::uint64_t rounds = output::is_terminal() ? 0 : 1;
    std::uint64_t budget = 10'000;

    void declare(CLI::App& app) {
        what.declare(app);
        server.declare(app);
        app.add_option("--count", count, "Keys to show")
            ->type_name("N")
            ->check(whole_number(1, 1'000'000))
            ->capture_default_str();
        app.add_option("--interval", interval, "Seconds between two rounds")
            ->type_name("SECONDS")
            ->check(number_between(0.1, 3600))
            ->capture_default_str();
        app.add_option("--rounds", rounds,
                       "Rounds to show, 0 for no end (default: no end on a terminal, else 1)")
            ->type_name("N")
            ->check(whole_number(0, 1'000'000'000));
        app.add_option("--scan", budget, "Keys of each server to examine per round, about")
            ->type_name("N")
            ->check(whole_number(1, 1'000'000'000))
            ->capture_default_str();
    }

    int run(output& out) const {
        const auto policies = what.is_given() ? what.policies() : std::vector<colimit::policy>{};
        auto prefixes = std::set{server.prefix};
        for (const auto& p : policies)
            prefixes.emplace(colimit::detail::access::data(p)->prefix(server.prefix));
        ranking known{policies};
        servers at{server.config()};
        state_reader reader{at, std::move(prefixes), budget};
        try {
            show(out, at, reader, known);
        } catch (const interrupted&) { // NOLINT(bugprone-empty-catch): the usual end
        }
        return exit_allowed;
    }

    void show(output& out, servers& at, state_reader& reader, ranking& known) const {
        const auto pause = std::chrono::milliseconds{std::llround(interval * 1000)};
        reader.read_next(known);
        at.require_all_keys();
        for (std::uint64_t round = 0; rounds == 0 || round < rounds; ++round) {
            at.pause(pause);
            reader.read(known.names(), known);
            const auto states = known.size(); // before those that are least limited are forgotten
            print(out, at, states, known.most(count));
            reader.read_next(known);
        }
    }

    static void print(output& out, const servers& at, std::size_t states,
                      const std::vector<ranked>& lines) {
        if (out.is_json()) {
            auto keys = boost::json::array{};
            for (const auto& r : lines)
                keys.push_back(line_value(r));
            return out.object({{"states", states}, {"keys", std::move(keys)}});
        }
        std::string text = output::is_terminal() ? clear_screen : "";
        text += counted(states, "state") + " of " + counted(at.count(), "server") + "\n";
        text += cell("", 6) + cell("left", 8) + cell("limit", 8) + cell("used", 10) +
                cell("per s", 10) + "policy  key\n";
        for (const auto& r : lines)
            text += line_text(r);
        out.text(text);
    }
};

} // namespace

command top_command() {
    return {
        .name = "top",
        .summary = "Show the most limited keys and how fast they use their limit, live",
        .text = {"Reads stored states, at most --scan keys of each server per round, by SCAN in "
                 "pages of 1,000, and those that it shows again in each round. Keys that use most "
                 "of their limit come first, then those that use it fastest.",
                 "A denied call writes nothing, so the rate is that of granted tokens. With "
                 "--policies or --rule, what is left is exact, and keys that would be denied now "
                 "are marked. Without, only stored numbers are known: `used` is as of the last "
                 "grant, and a rate of a bucket is at least the one shown.",
                 "Ctrl-C ends it. Writes nothing to the servers."},
        .examples = {{"top --policies policies.json", "live, with what is left"},
                     {"top --rounds 10 --interval 1 --json", "ten lines of JSON, one per second"}},
        .json = R"({"command": "top", "states": 2,
 "keys": [{"key": "user=42", "policy": "5-m", "left": 3, "limit": 5,
           "used": 2.0, "denied": false, "rate": 0.5}]})",
        .declare = declaration_of<top_options>()};
}

} // namespace tool

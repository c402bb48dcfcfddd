// SPDX-License-Identifier: BSL-1.0
//
// colimit load: how many checks per second a server decides, and how long they take.

#include <tool/commands/table.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/many_callers.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/load/run.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace tool {
namespace {

constexpr auto usual_load_rule = "100/s";

std::string number(const char* form, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), form, value); // NOLINT(*-vararg)
    return text.data();
}

std::string line(std::string name, const std::string& value) {
    name.resize(12, ' ');
    return name + value + '\n';
}

double per_second(const load::result& r) {
    return r.seconds > 0 ? static_cast<double>(r.checks) / r.seconds : 0;
}

double keys_per_batch(const load::result& r) {
    return r.batches == 0 ? 0 : static_cast<double>(r.batch_keys) / static_cast<double>(r.batches);
}

/// The processor time of the servers.
double server_us_per_check(const load::result& r) {
    return *r.server_us / static_cast<double>(r.checks);
}

struct load_options {
    policy_options what;
    server_options server;
    std::size_t callers = 256;
    std::size_t keys = 100'000;
    double seconds = 10;

    void declare(CLI::App& app) {
        what.declare(app);
        app.add_option("--callers", callers, "Callers, each with one call at a time")
            ->type_name("N")
            ->check(whole_number(1, 100'000))
            ->capture_default_str();
        app.add_option("--keys", keys, "Keys, from which callers choose at random")
            ->type_name("N")
            ->check(whole_number(1, 100'000'000))
            ->capture_default_str();
        app.add_option("--seconds", seconds, "How long to measure, after a warm-up of a tenth")
            ->type_name("S")
            ->check(number_between(0.1, 86'400))
            ->capture_default_str();
        // Never the server that happens to be in COLIMIT_SERVER: a load takes all that it can give.
        server.declare(app, true);
        server.declare_tags(app);
        server.declare_calls(app);
    }

    [[nodiscard]] load::plan plan() const {
        auto chosen = what;
        if (!what.is_given())
            chosen.rules = {usual_load_rule};
        auto settings = server.config();
        settings.prefix = own_prefix(server.prefix + "-load");
        // Calls that are decided without the server do not measure it.
        settings.advanced.deny_cache = settings.advanced.max_leases = 0;
        settings.advanced.max_in_flight = std::max(settings.advanced.max_in_flight, callers);
        // Packed states could not be removed, and a prefix of its own has keys of a service.
        const auto policy =
            chosen.policy().with_storage(colimit::storage::per_key).with_prefix(settings.prefix);
        return {settings, policy, callers, keys, seconds};
    }

    int run(output& out) const {
        const auto planned = plan();
        require_no_places(planned.policy.rules(), "rules of other kinds");
        require_no_members(planned.policy.rules(), "load");
        const auto r = load::run(planned);
        if (out.is_json())
            out.object(object_of(planned, r));
        else
            out.text(text_of(planned, r));
        return exit_allowed;
    }

  private:
    [[nodiscard]] std::string text_of(const load::plan& planned, const load::result& r) const {
        const auto ms = [&](double share) {
            return number("%.3f ms", r.latencies.percentile_us(share) / 1000);
        };
        std::string rules;
        for (const auto& rule : planned.policy.rules())
            rules += (rules.empty() ? "" : "; ") + to_string(rule);
        auto text = line("server", without_password(server.server)) + line("rules", rules) +
                    line("callers", grouped(callers) + ", on " + grouped(keys) + " keys") +
                    line("time", number("%.1f s", r.seconds) +
                                     (r.signal != 0 ? ", ended by a signal" : "")) +
                    line("checks", grouped(r.checks) + ", of which " + grouped(r.denied) +
                                       " were denied (" + percentage(r.denied, r.checks) + ")") +
                    line("checks/s", grouped(static_cast<std::size_t>(per_second(r)))) +
                    line("keys/batch", number("%.1f", keys_per_batch(r))) + line("p50", ms(0.5)) +
                    line("p99", ms(0.99)) + line("p99.9", ms(0.999)) +
                    line("max", number("%.3f ms", r.latencies.max_us() / 1000));
        if (r.module_checks != 0)
            text += line("module", percentage(r.module_checks, r.checks) + " of the checks");
        if (r.server_us && r.checks != 0)
            text += line("server us", number("%.2f per check", server_us_per_check(r)));
        if (r.keys_are_left)
            text += line("keys", "some are left on the server; they end by themselves");
        return text;
    }

    [[nodiscard]] boost::json::object object_of(const load::plan& planned,
                                                const load::result& r) const {
        boost::json::value server_us;
        if (r.server_us && r.checks != 0)
            server_us = server_us_per_check(r);
        return {{"server", without_password(server.server)},
                {"policy", planned.policy.name()},
                {"callers", callers},
                {"keys", keys},
                {"seconds", r.seconds},
                {"interrupted", r.signal != 0},
                {"checks", r.checks},
                {"denied", r.denied},
                {"checks_per_second", std::llround(per_second(r))},
                {"keys_per_batch", keys_per_batch(r)},
                {"module_checks", r.module_checks},
                {"server_us_per_check", server_us},
                {"p50_us", r.latencies.percentile_us(0.5)},
                {"p99_us", r.latencies.percentile_us(0.99)},
                {"p999_us", r.latencies.percentile_us(0.999)},
                {"max_us", r.latencies.max_us()},
                {"keys_are_left", r.keys_are_left}};
    }
};

} // namespace

command load_command() {
    return {
        .name = "load",
        .summary = "Measure how many checks per second a server decides",
        .text = {"Callers in a closed loop: each makes a check for a random key, waits for the "
                 "decision and repeats, all of them through one limiter on one thread. `server us` "
                 "is the processor time of the server for a check, according to INFO. The "
                 "keys have a prefix of their own and are removed at the end. Ctrl-C ends the "
                 "load early, with the report, or during the warm-up with an error; a second one "
                 "ends the program at once, and the "
                 "keys expire by themselves. The default rule is '100/s'.",
                 "It takes all of one core, and most of the server's: do not run it against a "
                 "server that other programs need."},
        .examples = {{"load --server redis://127.0.0.1:6379 --seconds 5", "a server"},
                     {"load --server env:LIMITS --rule '100/s; 5000/h named hour' --callers 64",
                      "two rules, and fewer calls at a time"}},
        .json = R"({"command": "load", "server": "unix:/run/redis.sock", "policy": "100-s",
 "callers": 256, "keys": 100000, "seconds": 2.0, "interrupted": false,
 "checks": 340162, "denied": 0, "checks_per_second": 169911,
 "keys_per_batch": 85.4, "module_checks": 0, "server_us_per_check": 3.21,
 "p50_us": 893.0, "p99_us": 6095.0, "p999_us": 25428.0, "max_us": 33728.0,
 "keys_are_left": false})",
        .declare = declaration_of<load_options>()};
}

} // namespace tool

// SPDX-License-Identifier: BSL-1.0
//
// Reads the period, compiles the rule, and makes one call on its key.

#include <base/bytes.hpp>
#include <core/compiled_policy.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>
#include <server_module/command_run.hpp>
#include <server_module/policy_states.hpp>
#include <server_module/refusal.hpp>
#include <server_module/script_arguments.hpp>
#include <server_module/single_check.hpp>
#include <server_module/string_value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace colimit::server_module {
namespace {

[[nodiscard]] core::compiled_policy compile(const bucket_numbers& numbers) {
    auto made = core::compiled_policy{};
    auto l =
        core::compile_rule("limit", core::kind::bucket,
                           {algorithm::gcra, numbers.count, numbers.period_us, numbers.capacity});
    l.tag = core::state_tag(core::family_of(core::kind::bucket), "cell");
    core::append_rule(made, l);
    return made;
}

/// Returns the policy, which is compiled only if the previous command had other numbers. (Commands
/// run on one thread of the server.)
[[nodiscard]] const core::compiled_policy& policy_of(const bucket_numbers& numbers) {
    struct known {
        bucket_numbers numbers;
        core::compiled_policy rules;
    };
    static auto last = std::optional<known>{};
    if (!last || last->numbers != numbers)
        last = known{numbers, compile(numbers)};
    return last->rules;
}

struct time_unit {
    std::string_view name;
    std::int64_t microseconds;
};

constexpr auto time_units = std::to_array<time_unit>({{"", 1'000'000},
                                                      {"s", 1'000'000},
                                                      {"ms", 1'000},
                                                      {"us", 1},
                                                      {"m", 60'000'000},
                                                      {"h", 3'600'000'000},
                                                      {"d", 86'400'000'000}});

} // namespace

std::int64_t read_period(std::string_view text) {
    const auto digits = std::ranges::find_if_not(text, detail::is_digit) - text.begin();
    const auto name = text.substr(static_cast<std::size_t>(digits));
    const auto unit = std::ranges::find(time_units, name, &time_unit::name);
    if (digits == 0 || unit == time_units.end())
        refuse("period", "not a time", "a whole number of us, ms, s, m, h or d, as in 60s");
    const auto number = whole_number(text.substr(0, static_cast<std::size_t>(digits)), "period");
    if (number > limits::max_recovery.count() / unit->microseconds)
        refuse("period", "too long", "at most 100 years");
    return number * unit->microseconds;
}

std::optional<decision> check_once(api::context* where, api::string* key,
                                   const bucket_numbers& numbers, std::int64_t cost) {
    const auto& rules = policy_of(numbers);
    auto run = command_run{where, key, command_clock::of_server(), 0, propagation::effects};
    auto value = string_value{run, key};
    auto states = policy_states{rules};
    const auto found = value.read();
    states.load(found);
    if (value.is_foreign() ||
        (found && !core::has_only_own_states(rules, *found, states.state()))) {
        (void)api::send_error(where, "WRONGTYPE the key holds a value that is not the state of a "
                                     "limit of CL.THROTTLE or COLIMIT.ALLOW");
        return std::nullopt;
    }
    (void)states.make_one(
        {.verb = detail::verb::allow, .cost = cost, .at_least = cost, .now = run.now()});
    if (states.change().any)
        if (const auto error = save(run, value, found, states.change()); !error.empty()) {
            (void)api::send_error(where, std::string{error}.c_str());
            return std::nullopt;
        }
    return states.last();
}

} // namespace colimit::server_module

// SPDX-License-Identifier: BSL-1.0
//
// Everything that callers state is checked here: names, enumerators, numbers.

#include <base/enumerator.hpp>
#include <colimit/error.hpp>
#include <core/algorithms.hpp>
#include <core/policy_encoding.hpp>
#include <core/rule_kind.hpp>
#include <hash/fnv1a.hpp>
#include <policy/make_policy.hpp>

#include <ranges>

namespace colimit::detail {
namespace {

void check_policy_options(std::string_view name, const policy_options& options) {
    const auto named = [name](const char* option) {
        return [name, option] { return "policy '" + std::string{name} + "': " + option; };
    };
    if (options.has_prefix)
        core::check_name(options.prefix.view(), named("the prefix")(), options.prefix.fits(),
                         errc::invalid_policy);
    check_failure_mode(named("on_failure"), options.on_failure, errc::invalid_policy);
    check_enumerator(named("stored"), options.storage, {storage::per_key, storage::shared_hash},
                     errc::invalid_policy);
}

/// Throws unless the values of enumerations are enumerators: they come from callers.
void check_kinds(std::string_view policy, std::span<const rule> rules) {
    using enum calendar_unit;
    const auto algorithms =
        std::views::transform(core::algorithms, &core::algorithm_traits::algorithm);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto named = [=](const char* option) {
            return [=] { return core::position_of_rule(policy, rules, i) + ": " + option; };
        };
        check_enumerator(named("algorithm"), rules[i].kind(), algorithms, errc::invalid_policy);
        check_enumerator(named("calendar_unit"), rules[i].unit(), {day, week, month, year},
                         errc::invalid_policy);
    }
}

/// Throws unless the commands store the same states as the policy.
void check_command_policy(const policy_data& data) {
    const auto& rules = data.compiled;
    const auto refuse = [](const char* reason) {
        throw error{errc::invalid_policy,
                    "policy '" + std::string{command_policy} + "': " + reason};
    };
    const auto has_rule = rules.state_count == 1 && rules.limits[0].kind == core::kind::bucket &&
                          rules.limits[0].initial == core::starts_full &&
                          data.rules[0].name() == "cell";
    if (!has_rule)
        refuse("shares the states of commands, so its only rule must be a bucket named 'cell', "
               "without stepwise, aligned, initially and prevent_duplicate");
    if (rules.packed || data.options.has_prefix)
        refuse("shares the keys of commands, so it has no prefix and no storage::shared_hash");
    if (data.options.has_leases)
        refuse("shares the states of commands, whose capacity is not lower, so it has no leases");
}

} // namespace

void check_rules(std::span<const rule> rules) {
    check_kinds("", rules);
    (void)core::compile_policy("", rules);
}

policy_pointer make_policy(std::string_view name, std::span<const rule> rules,
                           const policy_options& options) {
    core::check_name(name, "the policy's name", true, errc::invalid_policy);
    check_policy_options(name, options);
    check_kinds(name, rules);
    auto data = std::make_shared<policy_data>();
    data->name = name;
    data->rules.assign(rules.begin(), rules.end());
    data->options = options;
    data->compiled = core::compile_policy(name, rules, options);
    data->may_lease = options.has_leases &&
                      std::ranges::none_of(data->compiled.rules(), &core::compiled_rule::shadow);
    data->compiled.has_bare_keys = name == command_policy;
    if (data->compiled.has_bare_keys)
        check_command_policy(*data);
    data->wire = core::encode_policy(data->compiled);
    data->version = hash::fnv1a_64(data->wire);
    data->identity = std::string{options.has_prefix ? options.prefix.view() : ""} + ":" +
                     data->name + ":" + data->wire;
    if (options.has_leases)
        data->identity += ":" + std::to_string(options.leases);
    data->fingerprint = hash::fnv1a_64(data->identity);
    data->identify(std::string{data->prefix("")} + ":" + data->name);
    return data;
}

} // namespace colimit::detail

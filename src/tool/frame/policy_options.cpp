// SPDX-License-Identifier: BSL-1.0
//
// Options become a policy, under the name by which the applications' processes find its state.

#include <colimit/error.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/rule_text.hpp>
#include <policy_source/document_file.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/policy_options.hpp>

#include <stdexcept>

namespace tool {
namespace {

[[nodiscard]] std::string names_of(const colimit::policy_set& policies) {
    std::string names;
    for (const auto& p : policies)
        names.append(names.empty() ? "" : ", ").append(p.name());
    return names;
}

[[nodiscard]] colimit::policy find_policy(const std::string& path, const std::string& name) {
    const auto document = read_document(path);
    const auto& policies = document.policies();
    if (name.empty() && policies.size() == 1)
        return *policies.begin();
    const auto* const found = policies.find(name);
    if (found == nullptr)
        throw std::runtime_error{
            "--policy: " +
            (name.empty() ? "missing" : "no such policy (got '" + escaped(name) + "')") + "; " +
            escaped(path) + " has " + names_of(policies)};
    return *found;
}

} // namespace

colimit::policy_document read_document(const std::string& path) {
    const auto found = colimit::detail::read_file(path);
    if (!found.problem.empty())
        throw std::runtime_error{escaped(path) + " " + found.problem};
    try {
        return colimit::parse_policy_document(found.text);
    } catch (const colimit::error& e) {
        throw std::runtime_error{escaped(path) + ": " + e.what()};
    }
}

void require_no_places(std::span<const colimit::rule> rules) {
    for (const auto& rule : rules)
        if (rule.kind() == colimit::algorithm::concurrent)
            throw std::runtime_error{
                "a concurrent rule has places, which only an application holds "
                "(expected peek, inspect, block or reset)"};
}

void policy_options::declare(CLI::App& app) {
    app.add_option("--rule", rules,
                   "A rule, such as '5/s burst 10'; give it several times or join rules by ';' for "
                   "rules that must all allow")
        ->type_name("TEXT")
        ->allow_extra_args(false);
    app.add_option("--policies", file, "A document of policies, instead of rules")
        ->type_name("FILE");
    app.add_option("--policy", name,
                   "The name of the policy in the document; with --rule the name under which the "
                   "state is stored (default: that of a policy without a name)")
        ->type_name("NAME");
}

void policy_options::declare_packed(CLI::App& app) {
    app.add_flag("--packed", is_packed,
                 "With --rule: the state is packed, as with storage::shared_hash");
}

std::vector<colimit::rule> policy_options::parsed_rules() const {
    std::vector<colimit::rule> all;
    for (const auto& text : rules)
        for (const auto& rule : colimit::parse_rules(text))
            all.push_back(rule);
    return all;
}

colimit::policy policy_options::policy() const {
    if (rules.empty() == file.empty())
        throw std::runtime_error{rules.empty() ? "--rule or --policies is required"
                                               : "--rule and --policies exclude each other"};
    if (is_packed && rules.empty())
        throw std::runtime_error{"--packed: only with --rule, as the document says it"};
    const auto make = [this] {
        if (!file.empty())
            return find_policy(file, name);
        const auto all = parsed_rules();
        const auto p = name.empty() ? colimit::policy{all} : colimit::policy{name, all};
        return is_packed ? p.with_storage(colimit::storage::shared_hash) : p;
    };
    return make().with_failure_mode(colimit::failure_mode::error);
}

std::vector<colimit::policy> policy_options::policies() const {
    if (file.empty() || !name.empty() || !rules.empty() || is_packed)
        return {policy()};
    std::vector<colimit::policy> all;
    const auto document = read_document(file);
    for (const auto& p : document.policies())
        all.push_back(p.with_failure_mode(colimit::failure_mode::error));
    return all;
}

} // namespace tool

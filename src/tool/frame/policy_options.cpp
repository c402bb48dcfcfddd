// SPDX-License-Identifier: BSL-1.0
//
// Options become a policy, under the name by which the applications' processes find its state.

#include <colimit/error.hpp>
#include <colimit/policy_document.hpp>
#include <colimit/rule_text.hpp>
#include <tool/frame/command.hpp>
#include <tool/frame/format.hpp>
#include <tool/frame/input.hpp>
#include <tool/frame/policy_options.hpp>
#include <tool/frame/service_key.hpp>

#include <exception>
#include <stdexcept>

namespace tool {
namespace {

[[nodiscard]] std::string names_of(const colimit::policy_set& policies) {
    std::string names;
    for (const auto& p : policies)
        names.append(names.empty() ? "" : ", ").append(p.name());
    return names.empty() ? "no policies" : names;
}

/// @param path of the document, for messages
[[nodiscard]] colimit::policy find_policy(const colimit::policy_document& document,
                                          const std::string& path, const std::string& name) {
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

[[nodiscard]] std::string key_under(const std::optional<colimit::policy_document>& document,
                                    const colimit::policy& p, const std::string& key) {
    return document ? service_key(key, *document, p.name()) : service_key(key);
}

} // namespace

colimit::policy_document read_document(const std::string& path) {
    const auto text = read_input(path);
    try {
        return colimit::parse_policy_document(text);
    } catch (const colimit::error& e) {
        throw std::runtime_error{escaped(path) + ": " + e.what()};
    }
}

void require_no_places(std::span<const colimit::rule> rules, const std::string& instead) {
    for (const auto& rule : rules)
        if (rule.kind() == colimit::algorithm::concurrent)
            throw std::runtime_error{"a concurrent rule has slots, which only an application holds "
                                     "(expected " +
                                     instead + ")"};
}

void require_no_members(std::span<const colimit::rule> rules, const std::string& source) {
    for (const auto& rule : rules)
        if (rule.kind() == colimit::algorithm::distinct)
            throw std::runtime_error{"a distinct rule counts members, which " + source +
                                     " does not name"};
}

void policy_options::declare(CLI::App& app) {
    app.add_option("--rule", rules,
                   "A rule, such as '5/s burst 10'; give it several times or join rules by ';' for "
                   "rules that must all allow")
        ->type_name("TEXT")
        ->check(not_empty())
        ->allow_extra_args(false);
    app.add_option("--policies", file,
                   "A document of policies, instead of rules; - reads standard input")
        ->type_name("FILE")
        ->check(not_empty());
    app.add_option("--policy", name,
                   "The name of the policy in the document; with --rule the name under which the "
                   "state is stored (default: that of a policy without a name)")
        ->type_name("NAME")
        ->check(not_empty());
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

std::optional<colimit::policy_document> policy_options::document() const {
    if (rules.empty() == file.empty())
        throw std::runtime_error{rules.empty() ? "--rule or --policies is required"
                                               : "--rule and --policies exclude each other"};
    if (is_packed && rules.empty())
        throw std::runtime_error{"--packed: only with --rule, as the document says it"};
    return file.empty() ? std::nullopt : std::optional{read_document(file)};
}

std::vector<colimit::policy>
policy_options::policies_of(const std::optional<colimit::policy_document>& read,
                            bool is_one) const {
    std::vector<colimit::policy> all;
    if (!read) {
        const auto texts = parsed_rules();
        const auto p = name.empty() ? colimit::policy{texts} : colimit::policy{name, texts};
        all.push_back(is_packed ? p.with_storage(colimit::storage::shared_hash) : p);
    } else if (is_one || !name.empty()) {
        all.push_back(find_policy(*read, file, name));
    } else {
        all.assign(read->policies().begin(), read->policies().end());
    }
    for (auto& p : all)
        p = p.with_failure_mode(colimit::failure_mode::error);
    return all;
}

limited_key policy_options::limited(const std::string& key) const {
    const auto read = document();
    const auto p = policy_in(read);
    return {p, key_under(read, p, key)};
}

limited_keys policy_options::all_limited(const std::string& key) const {
    const auto read = document();
    limited_keys keys;
    std::exception_ptr first;
    for (const auto& p : policies_of(read, false)) {
        try {
            keys.all.push_back({p, key_under(read, p, key)});
        } catch (const other_form& e) {
            first = first ? first : std::current_exception();
            keys.others.push_back({std::string{p.name()}, e.form});
        }
    }
    if (keys.all.empty() && first)
        std::rethrow_exception(first);
    return keys;
}

} // namespace tool

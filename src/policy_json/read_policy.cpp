// SPDX-License-Identifier: BSL-1.0
//
// Reads a policy, with one function per level.

#include <colimit/limits.hpp>
#include <colimit/rule_text.hpp>
#include <core/compiled_policy.hpp>
#include <policy_json/read_policy.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace colimit::json {
namespace {

/// Appends the rules of a text, which may have several.
void add_rules(std::vector<rule>& rules, const node_ref& p) {
    if (p.is(kind::object)) {
        rules.push_back(read_rule(p));
    } else {
        const auto text = p.text("a rule, a text or an object");
        const auto read = p.with_path([&] { return parse_rules(text); });
        rules.insert(rules.end(), read.begin(), read.end());
    }
    if (rules.size() > limits::max_rules_per_policy)
        p.refuse("too many rules (at most 8)");
}

[[nodiscard]] std::vector<rule> read_rules(const node_ref& p) {
    std::vector<rule> rules;
    if (p.is(kind::string))
        add_rules(rules, p);
    else if (!p.is(kind::array))
        p.unexpected("a text or an array of rules");
    for (std::size_t i = 0; i < p.size(); ++i)
        add_rules(rules, p.element(i));
    if (rules.empty())
        p.refuse("no rules (expected 1 to 8)");
    return rules;
}

[[nodiscard]] policy make_policy(const node_ref& p, const std::vector<rule>& rules) {
    return p.with_path([&] { return policy{p.name(), rules}; });
}

[[nodiscard]] failure_mode read_mode(const node_ref& p) {
    constexpr std::string_view expected = "local, allow, deny or error";
    const auto name = p.text(expected);
    using enum failure_mode;
    for (const auto mode : {local, allow, deny, error})
        if (name == to_string(mode))
            return mode;
    p.unexpected(expected);
}

[[nodiscard]] storage read_storage(const node_ref& p) {
    constexpr std::string_view expected = "per_key or shared_hash";
    const auto name = p.text(expected);
    for (const auto layout : {storage::per_key, storage::shared_hash})
        if (name == to_string(layout))
            return layout;
    p.unexpected(expected);
}

[[nodiscard]] policy read_options(policy made, const fields& f) {
    if (f.has("prevent_duplicate")) {
        const auto period = std::chrono::microseconds{f["prevent_duplicate"].duration()};
        made = f["prevent_duplicate"].with_path([&] { return made.prevent_duplicate(period); });
    }
    if (f.has("shadow"))
        made = made.shadow(f["shadow"].boolean());
    if (f.has("on_failure"))
        made = made.with_failure_mode(read_mode(f["on_failure"]));
    if (f.has("storage")) {
        const auto layout = read_storage(f["storage"]);
        made = f["storage"].with_path([&] { return made.with_storage(layout); });
    }
    if (f.has("leases")) {
        const auto length = std::chrono::microseconds{f["leases"].duration()};
        made = f["leases"].with_path([&] { return made.with_leases(length); });
    }
    if (f.has("prefix"))
        made = made.with_prefix(f["prefix"].name_text());
    return made;
}

} // namespace

policy read_policy(const node_ref& member, std::span<const std::string_view> further) {
    core::check_name(member.name(), member.path(), true, errc::invalid_policy);
    if (!member.is(kind::object)) {
        if (!member.is(kind::string) && !member.is(kind::array))
            member.unexpected("a text, an array of rules or an object");
        return make_policy(member, read_rules(member));
    }
    auto known = std::vector<std::string_view>{
        "rules", "prevent_duplicate", "shadow", "on_failure", "storage", "prefix", "leases"};
    known.insert(known.end(), further.begin(), further.end());
    const auto f = fields{member};
    f.allow_only(known);
    return read_options(make_policy(member, read_rules(f["rules"])), f);
}

node_ref policies_in(const fields& document) {
    auto all = fields{document["policies"]}.object();
    if (all.size() > limits::max_policies)
        all.refuse("too many (got " + std::to_string(all.size()) + ", expected at most " +
                   std::to_string(limits::max_policies) + ")");
    return all;
}

} // namespace colimit::json

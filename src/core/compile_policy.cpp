// SPDX-License-Identifier: BSL-1.0
//
// Compiles a user's policy, or refuses it with the reason and the position of the rule.

#include <core/algorithms.hpp>
#include <core/compiled_policy.hpp>
#include <core/lease_reserve.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>

namespace colimit::core {
namespace {

/// Returns the name of a rule in messages: `policy 'login', rule 2 'minute'`. Throws if its own
/// name is not valid.
[[nodiscard]] std::string describe_rule(std::string_view policy, std::span<const rule> rules,
                                        std::size_t index) {
    const auto where = position_of_rule(policy, rules, index);
    const auto& r = rules[index];
    check_name(r.name(), where + ": the name", r.name_fits(), errc::invalid_policy);
    return where + " '" + std::string{r.name()} + "'";
}

/// Throws if the rule has a refinement that its algorithm does not have.
void check_refinements(const std::string& where, const rule& r) {
    const auto& kind = traits_of(r.kind());
    const auto check = [&](bool is_given, std::string_view what, feature f) {
        if (is_given && !kind.has(f))
            refuse(where, std::string{what} + " is for " + std::string{owners_of(f)} +
                              ", not for " + std::string{kind.name});
    };
    check(r.capacity() != r.count(), "burst", feature::refill);
    check(r.refill() == refill::stepwise, "stepwise", feature::refill);
    check(r.refill() == refill::aligned, "aligned", feature::refill);
    check(r.has_initial(), "initially", feature::refill);
    check(r.is_from_first(), "from_first", feature::from_first);
    check(r.counts_denied(), "count_denied", feature::count_denied);
    check(r.has_lease(), "lease", feature::lease);
}

/// Returns the kind of a rule whose refinements are checked.
[[nodiscard]] kind kind_of(const rule& r) noexcept {
    if (r.refill() != refill::continuous)
        return r.refill() == refill::stepwise ? kind::stepwise : kind::aligned;
    return r.is_from_first() ? kind::from_first : traits_of(r.kind()).kind;
}

/// Throws if a rule has a log or a sketch, which cannot be packed.
void check_packed(std::string_view policy, std::span<const rule> rules,
                  const compiled_policy& made) {
    for (std::uint32_t i = 0; i < made.size; ++i)
        if (form_of(made.limits[i].kind) != state_form::numbers)
            refuse(describe_rule(policy, rules, i),
                   "a " + std::string{to_string(rules[i].kind())} + " cannot be packed");
}

/// Throws if the policy has something that excludes a `concurrent` rule, which is the latest rule
/// or one before it.
/// @param before the policy without its latest rule
void check_slots(const std::string& where, const compiled_policy& before,
                 const compiled_rule& latest, const detail::policy_options& options) {
    if (before.has_slots && has_slots(latest))
        refuse(where, "a policy has at most one concurrent rule");
    if (before.has_distinct || has_sketch(latest))
        refuse(where, "a policy has no concurrent rule with a distinct rule");
    if (options.has_failure_mode &&
        (options.on_failure == failure_mode::allow || options.on_failure == failure_mode::local))
        refuse(where,
               "concurrent: not with failure_mode::" + std::string{to_string(options.on_failure)} +
                   ", as a slot needs the store (expected deny or error)");
}

/// Throws unless the length of leases is valid, and the policy has no option that excludes them.
void check_leases(std::string_view policy, const detail::policy_options& options) {
    const auto where = "policy '" + std::string{policy} + "'";
    check_lease_length(where, options.leases);
    if (options.prevent_duplicate != 0)
        refuse(where, "leases: not with prevent_duplicate");
}

/// Refuses a rule whose state would be that of an earlier one, or of a lockout.
void check_tag(const std::string& where, std::span<const rule> rules,
               const compiled_policy& earlier, const rule& r, std::uint32_t tag) {
    if (is_reserved_tag(tag))
        refuse(where, "its name happens to have the 32-bit tag of a lockout; choose another name");
    const auto same = std::ranges::find(earlier.rules(), tag, &compiled_rule::tag);
    if (same == earlier.rules().end())
        return;
    const auto name = rules[static_cast<std::size_t>(same - earlier.rules().begin())].name();
    if (name == r.name())
        refuse(where, "another rule of this policy has this name; name them apart with "
                      ".named(...)");
    refuse(where, "its state cannot be told from that of rule '" + std::string{name} +
                      "', whose name happens to have the same 32-bit tag; choose another name");
}

} // namespace

void check_name(std::string_view name, const std::string& what, bool fits, errc code) {
    if (name.empty())
        throw error{code, what + " is empty: 1 to 64 characters of [A-Za-z0-9_.-] are allowed"};
    const auto bad = std::ranges::find_if_not(name, is_name_character);
    if (bad != name.end())
        throw error{code, what + ": character " + std::to_string(bad - name.begin() + 1) +
                              " is not one of [A-Za-z0-9_.-]"};
    if (!fits || name.size() > limits::max_name_length)
        throw error{code, what + " is longer than 64 characters"};
}

std::string position_of_rule(std::string_view policy, std::span<const rule> rules,
                             std::size_t index) {
    const auto number = " " + std::to_string(index + 1);
    if (policy.empty())
        return "rule" + (rules.size() == 1 ? "" : number);
    return "policy '" + std::string{policy} + "', rule" + number;
}

compiled_policy compile_policy(std::string_view policy_name, std::span<const rule> rules,
                               const detail::policy_options& options) {
    if (rules.empty() || rules.size() > limits::max_rules_per_policy)
        refuse(policy_name.empty() ? "rules" : "policy '" + std::string{policy_name} + "'",
               "must have 1 to 8 rules, has " + std::to_string(rules.size()));
    auto made = compiled_policy{};
    made.shadow = options.shadow;
    if (options.has_leases)
        check_leases(policy_name, options);
    for (const auto& r : rules) {
        const auto where = describe_rule(policy_name, rules, made.size);
        check_refinements(where, r);
        auto l = compile_rule(where, kind_of(r), r);
        if (options.has_leases)
            l = compile_rule(where, kind_of(r), with_lease_reserve(where, r, l, options.leases));
        l.tag = state_tag(family_of(l.kind), r.name());
        l.shadow = r.is_shadow() || options.shadow;
        check_tag(where, rules, made, r, l.tag);
        if (made.has_slots || has_slots(l))
            check_slots(where, made, l, options);
        append_rule(made, l);
    }
    if (options.prevent_duplicate != 0)
        append_lockout(made, "policy '" + std::string{policy_name} + "'",
                       options.prevent_duplicate);
    if (options.storage == storage::shared_hash) {
        check_packed(policy_name, rules, made);
        pack(made);
    }
    return made;
}

} // namespace colimit::core

// SPDX-License-Identifier: BSL-1.0
//
// Compiles rules in the finest unit in which every product and sum of the arithmetic is below 2^53,
// or refuses a rule with the reason.

#include <core/algorithms.hpp>
#include <core/compiled_policy.hpp>
#include <core/rule_compiler.hpp>
#include <core/rule_kind.hpp>
#include <hash/fnv1a.hpp>

#include <cmath>

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

void check_range(const std::string& where, std::string_view what, std::int64_t value) {
    if (value < 1 || value > limits::max_exact_integer)
        refuse(where, std::string{what} + " must be 1 to " +
                          std::to_string(limits::max_exact_integer) + " (got " +
                          std::to_string(value) + ")");
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
}

void check_numbers(const std::string& where, const rule& r) {
    check_refinements(where, r);
    check_range(where, is_bucket(r.kind()) ? "the count" : "the limit", r.count());
    if (is_bucket(r.kind()))
        check_range(where,
                    r.kind() == algorithm::cell ? "the capacity (max_burst + 1)" : "the capacity",
                    r.capacity());
    if (r.has_initial() && (r.initial() < 0 || r.initial() > r.capacity()))
        refuse(where, "it must start with 0 to " + std::to_string(r.capacity()) + " tokens, not " +
                          std::to_string(r.initial()));
}

/// Returns the kind of a rule whose refinements are checked.
[[nodiscard]] kind kind_of(const rule& r) noexcept {
    if (r.refill() != refill::continuous)
        return r.refill() == refill::stepwise ? kind::stepwise : kind::aligned;
    return r.is_from_first() ? kind::from_first : traits_of(r.kind()).kind;
}

[[nodiscard]] compiled_rule make_rule(const std::string& where, kind k, const rule& r,
                                      bool shadow) {
    auto made = visit(k, [&]<class K>(K) { return K::compile(where, r); });
    made.kind = k;
    made.tag = state_tag(family_of(k), r.name());
    made.shadow = r.is_shadow() || shadow;
    if (r.has_initial())
        made.initial = (r.capacity() - r.initial()) * (made.full / r.capacity());
    return made;
}

/// Compiles the lockout of a policy that prevents duplicates, as a rule without a name, which a
/// user's rule cannot be.
[[nodiscard]] compiled_rule make_lockout(std::string_view policy,
                                         const detail::policy_options& options) {
    const auto unnamed = rule{algorithm{}, 1, options.prevent_duplicate, 1}.named("");
    return make_rule("policy '" + std::string{policy} + "'", kind::lockout, unnamed,
                     options.shadow);
}

/// Refuses a rule that would share the state of an earlier one.
[[noreturn]] void refuse_same_tag(const std::string& where, const rule& earlier,
                                  const rule& later) {
    if (earlier.name() == later.name())
        refuse(where, "another rule of this policy has this name; name them apart with "
                      ".named(...)");
    refuse(where, "its state cannot be told from that of rule '" + std::string{earlier.name()} +
                      "', whose name happens to have the same 32-bit tag; choose another name");
}

/// A packed state is dropped when it would have recovered from its limit, so debt stops at the
/// limit. Logs and sketches cannot be packed.
void pack(std::string_view policy_name, std::span<const rule> rules, compiled_policy& made) {
    made.packed = true;
    made.can_reserve = false;
    for (std::uint32_t i = 0; i < made.slots; ++i) {
        auto& l = made.limits[i];
        if (form_of(l.kind) != state_form::numbers)
            refuse(describe_rule(policy_name, rules, i),
                   "a " + std::string{to_string(rules[i].kind())} + " cannot be packed");
        if (i < made.size)
            l.most = l.full;
        // With `initially` a state is kept until it is equivalent to that of a new key.
        const auto times = l.initial == starts_full ? 1 : 2;
        made.generation = std::max(made.generation, times * full_recovery(l));
    }
}

/// Returns the largest value of a member in the policy's log rules, or 0.
[[nodiscard]] std::int64_t largest_of_logs(const compiled_policy& rules,
                                           std::int64_t compiled_rule::* member) noexcept {
    auto largest = std::int64_t{0};
    for (const auto& l : rules.rules())
        if (is_log(l))
            largest = std::max(largest, l.*member);
    return largest;
}

} // namespace

std::int64_t log_period(const compiled_policy& rules) noexcept {
    return largest_of_logs(rules, &compiled_rule::period);
}

std::int64_t log_capacity(const compiled_policy& rules) noexcept {
    return 2 * largest_of_logs(rules, &compiled_rule::capacity) + 16;
}

void refuse(const std::string& where, const std::string& reason) {
    throw error{errc::invalid_policy, where + ": " + reason};
}

void check_recovery(const std::string& where, std::int64_t steps, std::int64_t us_per_step) {
    constexpr auto century = limits::max_recovery.count();
    if (steps <= century / us_per_step)
        return;
    const auto centuries = static_cast<double>(steps) * static_cast<double>(us_per_step) /
                           static_cast<double>(century);
    const auto years = std::max(101LL, std::llround(std::ceil(100 * centuries)));
    refuse(where, "full recovery: too long (got " + std::to_string(years) +
                      " years, expected at most 100 years)");
}

std::int64_t period_of(const std::string& where, const rule& r) {
    const auto period = r.period().count();
    if (period == detail::no_duration)
        refuse(where, "the period must be a whole number of microseconds that fits 64 bits");
    if (period < 1 || period > limits::max_recovery.count())
        refuse(where,
               "the period must be 1 us to 100 years (got " + std::to_string(period) + " us)");
    return period;
}

std::uint32_t state_tag(char family, std::string_view rule_name) noexcept {
    auto made = hash::fnv1a_begin_32;
    const auto add = [&made](char c) {
        made = hash::fnv1a_32(made, static_cast<unsigned char>(c));
    };
    add(family);
    std::ranges::for_each(rule_name, add);
    return made == 0 ? 1 : made;
}

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
    made.can_reserve = true;
    for (const auto& r : rules) {
        const auto where = describe_rule(policy_name, rules, made.size);
        check_numbers(where, r);
        const auto l = make_rule(where, kind_of(r), r, options.shadow);
        for (std::uint32_t i = 0; i < made.size; ++i)
            if (made.limits[i].tag == l.tag)
                refuse_same_tag(where, rules[i], r);
        made.limits[made.size++] = l;
        made.has_log = made.has_log || is_log(l);
        made.has_distinct = made.has_distinct || has_sketch(l);
        made.counts_denied = made.counts_denied || l.counts_denied;
        made.can_reserve = made.can_reserve && can_reserve(l.kind);
    }
    made.slots = made.size;
    if (options.prevent_duplicate != 0)
        made.limits[made.slots++] = make_lockout(policy_name, options);
    if (options.storage == storage::shared_hash)
        pack(policy_name, rules, made);
    return made;
}

} // namespace colimit::core

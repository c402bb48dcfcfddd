// SPDX-License-Identifier: BSL-1.0
//
// Finds invalid calls and the reason. One list for both, so that none is rejected without a reason.

#include <core/call_fault.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_check.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::detail {
namespace {

[[nodiscard]] bool is_within(std::int64_t value, std::int64_t most) noexcept {
    return value >= 0 && value <= most;
}

[[nodiscard]] fault fault_in_numbers(const call_request& q) noexcept {
    if (core::traits_of(q.verb).has_duration)
        return is_within(q.cost, limits::max_recovery.count()) ? fault::none : fault::duration;
    if (q.verb == verb::reserve) {
        if (!is_within(q.at_least, limits::max_repayment.count()))
            return fault::max_wait;
    } else if (q.verb != verb::unreserve) {
        if (is_within(q.cost, limits::max_exact_integer) && !is_within(q.at_least, q.cost))
            return fault::at_least;
    }
    return is_within(q.cost, limits::max_exact_integer) ? fault::none : fault::cost;
}

[[nodiscard]] fault fault_in_id(const call_request& q,
                                const core::compiled_policy& rules) noexcept {
    if (!core::traits_of(q.verb).may_have_id)
        return fault::request_verb;
    if (q.id.empty() || q.id.size() > limits::max_request_bytes)
        return fault::request_size;
    return rules.has_bare_keys ? fault::request_bare_keys : fault::none;
}

/// Returns the fault of a verb that takes places of a policy without any, or tokens of one that has
/// them.
[[nodiscard]] fault fault_in_verb(const call_request& q,
                                  const core::compiled_policy& rules) noexcept {
    const auto& verb = core::traits_of(q.verb);
    if (verb.has_holder)
        return rules.has_slots ? fault::none : fault::slots_policy;
    const auto takes_tokens = verb.moves_quota && !verb.only_asks;
    return rules.has_slots && takes_tokens ? fault::slots_verb : fault::none;
}

[[nodiscard]] fault fault_in(const call_request& q, const core::compiled_policy& rules) noexcept {
    if (const auto found = fault_in_verb(q, rules); found != fault::none)
        return found;
    if (const auto found = fault_in_numbers(q); found != fault::none)
        return found;
    if (rules.packed && core::traits_of(q.verb).outlasts_limits)
        return fault::packed;
    if (q.member.size() > limits::max_key_bytes)
        return fault::member_size;
    if (rules.has_distinct && !q.has_member && q.cost > 0 && core::traits_of(q.verb).counts_member)
        return fault::member_missing;
    if (q.has_id)
        if (const auto found = fault_in_id(q, rules); found != fault::none)
            return found;
    return q.now >= store_clock && q.now <= limits::max_time ? fault::none : fault::time;
}

/// Returns the invalid value, if it is a number.
[[nodiscard]] std::string value_of(fault f, const call_request& q) {
    switch (f) {
    case fault::cost:
        return std::to_string(q.cost);
    case fault::at_least:
        return std::to_string(q.at_least);
    case fault::member_size:
        return std::to_string(q.member.size());
    case fault::request_size:
        return std::to_string(q.id.size());
    default:
        return {};
    }
}

/// Returns whether two checks are about one state.
[[nodiscard]] bool same_state(const check_item& a, const check_item& b) noexcept {
    const auto& first = *detail::access::data(a.policy);
    const auto& second = *detail::access::data(b.policy);
    return a.key == b.key && first.name == second.name && first.prefix("") == second.prefix("");
}

/// Returns the error of a check, given those before it.
[[nodiscard]] error_code error_of_check(std::span<check_item> checks,
                                        std::span<check_item>::iterator one) noexcept {
    const auto& rules = detail::access::data(one->policy)->compiled;
    if (rules.packed)
        return error_of(fault::checks_packed);
    if (one->options.request)
        return error_of(fault::request_checks);
    if (const auto request = make_request(verb::allow, one->options); !is_valid(request, rules))
        return error_of_request(request, rules);
    if (one->options.now != checks.front().options.now)
        return error_of(fault::checks_time);
    if (one->key.size() > limits::max_key_bytes)
        return errc::invalid_key;
    if (std::any_of(checks.begin(), one,
                    [one](const check_item& other) { return same_state(*one, other); }))
        return error_of(fault::checks_same_state);
    return {};
}

} // namespace

bool is_valid_in_full(const call_request& q, const core::compiled_policy& rules) noexcept {
    return fault_in(q, rules) == fault::none;
}

std::string fault_message(const call_request& q, const core::compiled_policy& rules) {
    const auto found = fault_in(q, rules);
    return found == fault::none ? "" : text_of(found, {}, value_of(found, q));
}

void refuse_request(const call_request& q, const core::compiled_policy& rules) {
    throw error{code_of(fault_in(q, rules)), fault_message(q, rules)};
}

error_code error_of_request(const call_request& q, const core::compiled_policy& rules) noexcept {
    const auto found = fault_in(q, rules);
    return found == fault::none ? error_code{} : error_of(found);
}

error_code error_of_count(const core::compiled_policy& rules) noexcept {
    return error_of(rules.has_distinct ? fault::count_rule : fault::count_policy);
}

call_request make_count(const policy_data& p, const count_options& o) noexcept {
    const auto is_counted = [&](std::size_t i) {
        return core::has_sketch(p.compiled.limits[i]) && (!o.rule || p.rules[i].name() == *o.rule);
    };
    auto rule = std::size_t{0};
    while (rule < p.rules.size() && !is_counted(rule))
        ++rule;
    return {.verb = verb::peek,
            .cost = 0,
            .at_least = 0,
            .now = clock_of(o.now),
            .rule = rule < p.rules.size() ? static_cast<std::uint8_t>(rule) : no_rule};
}

void check_key(std::string_view key) {
    if (key.size() > limits::max_key_bytes)
        throw error{errc::invalid_key, "key: too long (got " + std::to_string(key.size()) +
                                           " bytes, expected at most " +
                                           std::to_string(limits::max_key_bytes) + ")"};
}

error_code error_of_checks(std::span<check_item> checks) noexcept {
    if (checks.empty() || checks.size() > limits::max_checks)
        return error_of(fault::checks_count);
    for (auto one = checks.begin(); one != checks.end(); ++one)
        if (const auto wrong = error_of_check(checks, one); wrong) {
            one->ec = wrong;
            return wrong;
        }
    return {};
}

} // namespace colimit::detail

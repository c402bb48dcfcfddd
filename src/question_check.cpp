// SPDX-License-Identifier: BSL-1.0
//
// Calls that make no sense, and why. One list for both questions, so that none is refused without a
// reason.

#include <policy_data.hpp>
#include <question_check.hpp>

#include <algorithm>
#include <cstdint>

namespace colimit::detail {
namespace {

enum class fault : std::uint8_t {
    none,
    cost,
    duration,
    at_least,
    max_wait,
    packed,
    rules,
    member,
    time
};

[[nodiscard]] bool is_within(std::int64_t value, std::int64_t most) noexcept {
    return value >= 0 && value <= most;
}

[[nodiscard]] fault fault_in_numbers(const question& q) noexcept {
    switch (q.verb) {
    case verb::block:
    case verb::once:
        return is_within(q.cost, limits::longest_recovery.count()) ? fault::none : fault::duration;
    case verb::reserve:
        if (!is_within(q.at_least, limits::longest_debt.count()))
            return fault::max_wait;
        break;
    case verb::unreserve:
        break;
    default:
        if (is_within(q.cost, limits::exact_integer) && !is_within(q.at_least, q.cost))
            return fault::at_least;
        break;
    }
    return is_within(q.cost, limits::exact_integer) ? fault::none : fault::cost;
}

/// Whether the verb counts a member. Who asks for nothing counts nobody.
[[nodiscard]] bool counts_member(const question& q) noexcept {
    return q.cost > 0 && (q.verb == verb::allow || q.verb == verb::peek || q.verb == verb::charge);
}

[[nodiscard]] fault fault_in(const question& q, const core::plan& rules) noexcept {
    if (const auto found = fault_in_numbers(q); found != fault::none)
        return found;
    if (rules.packed && (q.verb == verb::block || q.verb == verb::reserve))
        return fault::packed;
    if (q.verb == verb::reserve && !rules.can_reserve)
        return fault::rules;
    if (q.member.size() > limits::key_bytes ||
        (rules.has_distinct && !q.has_member && counts_member(q)))
        return fault::member;
    return q.now >= store_clock && q.now <= limits::latest_time ? fault::none : fault::time;
}

[[nodiscard]] std::string range(std::int64_t most, std::int64_t is) {
    return " must be 0 to " + std::to_string(most) + ", is " + std::to_string(is);
}

[[nodiscard]] std::string what_is_wrong_with_member(const question& q) {
    if (q.has_member)
        return "the member has " + std::to_string(q.member.size()) + " bytes; at most " +
               std::to_string(limits::key_bytes) + " are allowed";
    return "the policy has a distinct rule: say which member";
}

/// Whether two checks are about one state.
[[nodiscard]] bool same_state(const check& a, const check& b) noexcept {
    const auto& first = *a.policy.data();
    const auto& second = *b.policy.data();
    return a.key == b.key && first.name == second.name && first.prefix("") == second.prefix("");
}

} // namespace

bool is_valid_in_full(const question& q, const core::plan& rules) noexcept {
    return fault_in(q, rules) == fault::none;
}

std::string what_is_wrong_with(const question& q, const core::plan& rules) {
    switch (fault_in(q, rules)) {
    case fault::none:
        return {};
    case fault::cost:
        return "the cost" + range(limits::exact_integer, q.cost);
    case fault::duration:
        return "the duration must be a whole number of microseconds, 0 to 100 years";
    case fault::at_least:
        return "at_least" + range(q.cost, q.at_least);
    case fault::max_wait:
        return "max_wait must be 0 to 366 days";
    case fault::packed:
        return "a packed state is kept until it recovers from the limit, no longer: there is no "
               "block and no wait";
    case fault::rules:
        return "only buckets that are repaid continuously can reserve a place";
    case fault::member:
        return what_is_wrong_with_member(q);
    case fault::time:
        break;
    }
    return "the time must lie between 1970 and 2112";
}

void check_key(std::string_view key) {
    if (key.size() > limits::key_bytes)
        throw error{errc::invalid_key, "the key has " + std::to_string(key.size()) +
                                           " bytes; at most " + std::to_string(limits::key_bytes) +
                                           " are allowed"};
}

error_code error_of_checks(std::span<const check> checks) noexcept {
    if (checks.empty() || checks.size() > limits::checks_together)
        return errc::invalid_argument;
    for (auto one = checks.begin(); one != checks.end(); ++one) {
        const auto& rules = one->policy.data()->plan;
        if (rules.packed || !is_valid(ask(verb::allow, one->options), rules) ||
            one->options.now != checks.front().options.now)
            return errc::invalid_argument;
        if (one->key.size() > limits::key_bytes)
            return errc::invalid_key;
        if (std::any_of(checks.begin(), one,
                        [one](const check& other) { return same_state(*one, other); }))
            return errc::invalid_argument;
    }
    return {};
}

} // namespace colimit::detail

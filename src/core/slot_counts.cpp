// SPDX-License-Identifier: BSL-1.0
//
// Reports and changes holders with the limit and the lease of a policy's `concurrent` rule.

#include <core/rule_kind.hpp>
#include <core/slot_counts.hpp>
#include <core/verb_traits.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <cstddef>

namespace colimit::core {
namespace {

[[nodiscard]] std::int64_t lease_of(const compiled_policy& rules) noexcept {
    return rules.limits[slot_rule_of(rules)].period;
}

} // namespace

std::size_t slot_rule_of(const compiled_policy& rules) noexcept {
    BOOST_ASSERT(rules.has_slots);
    const auto all = rules.rules();
    return static_cast<std::size_t>(std::ranges::find_if(all, has_slots) - all.begin());
}

bool apply_before(slot_set& set, const compiled_policy& rules,
                  const call_request& request) noexcept {
    if (traits_of(request.verb).tests_amount)
        return false;
    const auto lease = lease_of(rules);
    const auto moved = set.shorten(request.now, lease);
    switch (request.verb) {
    case verb::renew:
        if (!set.holds(request.member, request.now))
            return moved;
        set.extend(request.member, request.now, lease);
        return true;
    case verb::release:
        return set.remove(request.member) || moved;
    case verb::reset:
        set.clear();
        return true;
    default:
        return moved;
    }
}

void report_counts(const slot_set& set, const compiled_policy& rules, const call_request& request,
                   std::span<rule_state> states) noexcept {
    const auto now = request.now;
    const auto rule = slot_rule_of(rules);
    const auto& l = rules.limits[rule];
    const auto holds = traits_of(request.verb).has_holder && set.holds(request.member, now);
    const auto acquires = request.verb == verb::acquire;
    const auto holders = set.count(now);
    const auto others = holders - (acquires && holds ? 1 : 0);
    states[rule] = {
        .t = set.last_end(now, l.period),
        .debt = others,
        .num = acquires                               ? set.next_token(now)
               : request.verb == verb::renew && holds ? std::max<std::int64_t>(1, set.token())
                                                      : 0,
        .capacity = others < l.debt_limit ? 0 : set.free_at(now, l.debt_limit, l.period)};
}

bool lacks_memory(const compiled_policy& rules, std::span<const rule_state> states,
                  const call_request& request) noexcept {
    return request.verb == verb::acquire && states[slot_rule_of(rules)].num == 0;
}

bool apply_after(slot_set& set, const compiled_policy& rules, const call_request& request,
                 const decision& result) noexcept {
    if (request.verb != verb::acquire || result.outcome == outcome::never)
        return false;
    const auto lease = lease_of(rules);
    const auto moved = set.shorten(request.now, lease);
    if (!result.allowed())
        return moved;
    set.add(request.member, request.now, lease);
    return true;
}

std::int64_t lifetime(const slot_set& set, std::int64_t now) noexcept {
    return set.count(now) == 0 ? 0 : set.latest() - now;
}

std::uint64_t fencing_token(const compiled_policy& rules, std::span<const rule_state> states,
                            const call_request& request, const decision& result) noexcept {
    if (request.verb != verb::acquire || !result.allowed())
        return 0;
    return static_cast<std::uint64_t>(states[slot_rule_of(rules)].num);
}

} // namespace colimit::core

// SPDX-License-Identifier: BSL-1.0
//
// Finds, claims and evicts the entries of shared states.

#include <core/log_counts.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <memory/shared_states.hpp>

#include <boost/assert.hpp>

namespace colimit::memory {

void shared_states::evicted_debt::add(const entry& evicted, std::int64_t now) noexcept {
    const auto more =
        evicted_debt{.until = evicted.recovered_at, .since = evicted.written_at}.left(now);
    until = now + std::max({left(now), more, std::int64_t{0}});
    since = now;
}

template<class Set>
auto* shared_states::find(Set& s, const hash::digest& policy, std::uint32_t tag) noexcept {
    const auto found = std::ranges::find_if(
        s.entries, [&](const entry& one) { return one.tag == tag && one.policy == policy; });
    return found == s.entries.end() ? nullptr : &*found;
}

bool shared_states::read(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                         contents& c, core::event_log& log) const noexcept {
    BOOST_ASSERT(log.is_empty());
    const auto& s = table_[set_of(id)];
    const auto owed = s.owed.left(now);
    auto counts = false;
    const auto state_of = [&](std::uint32_t tag, std::int64_t left, const auto& substitute) {
        const auto* own = find(s, p.id, tag);
        if (own != nullptr ? own->recovered_at <= now : left <= 0)
            return core::rule_state{};
        counts = true;
        return own != nullptr ? own->state : substitute(left);
    };
    for (std::uint32_t i = 0; i < p.compiled.state_count; ++i) {
        const auto& l = p.compiled.limits[i];
        if (!core::is_log(l))
            c.states[i] = state_of(cell_tag(l), owed,
                                   [&](std::int64_t left) { return core::owing(l, left, now); });
    }
    if (p.compiled.has_log) {
        // An evicted event was not newer than its eviction.
        const auto all = state_of(log_tag, owed, [&](std::int64_t) {
            return core::rule_state{.t = std::min(now, s.owed.since),
                                    .debt = core::log_capacity(p.compiled)};
        });
        (void)log.record(all.t, all.debt, std::max(core::log_period(p.compiled), all.num), 1);
    }
    c.header.block = state_of(block_tag, s.locked_out.left(now), [&](std::int64_t left) {
        return core::rule_state{.t = now, .debt = left, .num = 1, .capacity = 1};
    });
    return counts;
}

shared_states::entry& shared_states::claim_entry(set& s, const hash::digest& policy,
                                                 std::uint32_t tag, std::int64_t now) noexcept {
    auto& chosen = *std::ranges::min_element(s.entries, {}, &entry::recovered_at);
    if (chosen.recovered_at > now)
        (has_lockout(chosen.tag) ? s.locked_out : s.owed).add(chosen, now);
    chosen.policy = policy;
    chosen.tag = tag;
    return chosen;
}

void shared_states::write(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                          const contents& c, const core::event_log& log) noexcept {
    auto& s = set_for(id);
    const auto put = [&](std::uint32_t tag, const core::rule_state& state, std::int64_t lifetime) {
        auto* own = find(s, p.id, tag);
        auto& target = own != nullptr ? *own : claim_entry(s, p.id, tag, now);
        target.state = state;
        target.recovered_at = now + lifetime;
        target.written_at = now;
    };
    const auto longest = core::lifetime(p.compiled, c.states, core::key_header{}, now);
    for (std::uint32_t i = 0; i < p.compiled.state_count; ++i) {
        const auto& l = p.compiled.limits[i];
        if (core::has_slots(l) && c.states[i].t > now)
            put(cell_tag(l), {.t = c.states[i].t}, c.states[i].t - now);
        else if (!core::is_elsewhere(l))
            put(cell_tag(l), c.states[i], longest);
    }
    if (p.compiled.has_log && !log.is_empty()) {
        const auto kept = log.kept_for(core::log_period(p.compiled));
        put(log_tag, {.t = log.newest(now, kept), .debt = log.used(now, kept), .num = kept},
            core::lifetime(log, p.compiled, now));
    }
    if (c.header.block.debt > 0)
        put(block_tag, c.header.block, c.header.block.debt);
}

core::call_request shared_request(const core::call_request& request) noexcept {
    if (!core::traits_of(request.verb).gives_back)
        return request;
    return {.verb = core::verb::peek, .cost = 0, .at_least = 0, .now = request.now};
}

bool charges(const core::call_request& request, const decision& result) noexcept {
    return result.granted > 0 || (request.verb == core::verb::acquire && result.allowed()) ||
           core::traits_of(request.verb).charges_always;
}

namespace {

[[nodiscard]] bool has_initial(const core::compiled_rule& l) noexcept {
    return l.initial != core::starts_full;
}

} // namespace

bool must_stay_shared(const core::compiled_policy& rules) noexcept {
    return std::ranges::any_of(rules.rules(), [](const core::compiled_rule& l) {
        return has_initial(l) || core::starts_at_use(l.kind);
    });
}

bool may_insert(const core::compiled_policy& rules, const core::call_request& request,
                bool is_shared, const decision& result) noexcept {
    if (!is_shared)
        return true;
    return (charges(request, result) || request.verb == core::verb::block) &&
           !must_stay_shared(rules);
}

bool owe_as_new(const core::compiled_policy& rules, std::span<core::rule_state> states,
                const core::call_request& request) noexcept {
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& l = rules.limits[i];
        if (!has_initial(l))
            continue;
        auto fresh = core::rule_state{};
        for (auto* s : {&states[i], &fresh}) {
            (void)core::advance(l, *s, request.now);
            core::fold(l, *s);
        }
        states[i] = core::stricter(l, states[i], fresh);
    }
    return core::traits_of(request.verb).charges_always ||
           std::ranges::any_of(rules.rules(), has_initial);
}

void restart_periods(const core::compiled_policy& rules, std::span<core::rule_state> states,
                     std::int64_t now) noexcept {
    for (std::uint32_t i = 0; i < rules.state_count; ++i)
        if (core::starts_at_use(rules.limits[i].kind))
            states[i].t = std::max(states[i].t, now + rules.limits[i].period);
}

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// Slots of shared states: found, made and given up.

#include <core/log_facts.hpp>
#include <memory/shared_states.hpp>

#include <algorithm>

namespace colimit::memory {
namespace {

[[nodiscard]] std::size_t set_of(const hash::digest& id) noexcept {
    return static_cast<std::size_t>(id.high % shared_states::sets);
}

/// How long a state that was stored at `t` still counts; one from after `now` counts as one of now.
[[nodiscard]] std::int64_t remaining(std::int64_t recovered_at, std::int64_t t,
                                     std::int64_t now) noexcept {
    return recovered_at - std::max(t, now);
}

/// How much a rule owes that must not recover before `duration` from now. Windows owe more than
/// they have: not even a cost of 0 fits. That lasts for one window, and longer they never owe.
[[nodiscard]] std::int64_t debt_for(const core::limit& l, std::int64_t duration) noexcept {
    const auto ticks = [&](std::int64_t steps, std::int64_t each) {
        return steps > l.most / each ? l.most : steps * each;
    };
    switch (l.kind) {
    case core::kind::bucket:
        return ticks((duration - 1) / l.unit + 1, l.den);
    case core::kind::stepwise:
    case core::kind::aligned: // where now is a boundary, at which one count comes back
        return ticks((duration - 1) / l.period + 2, l.count);
    case core::kind::hold: // held_up tells of it
        return 0;
    default:
        return l.full + 1;
    }
}

/// A counter of which one window is as full as any can be: the one before, if what it owes is over
/// with this one, or else this one. What was given up may have been more than the limit, and goes
/// on counting as it fades.
[[nodiscard]] core::rule_state owing_counter(const core::limit& l, std::int64_t duration,
                                             std::int64_t now) noexcept {
    const auto period = l.period * l.unit;
    const auto end = (now / period + 1) * period;
    const auto fades = now + duration <= end;
    return {.t = end, .debt = fades ? 0 : l.most, .num = period, .capacity = fades ? l.most : 0};
}

/// A state that recovers `duration` from now and not before, as far as the rule can owe as long.
[[nodiscard]] core::rule_state owing(const core::limit& l, std::int64_t duration,
                                     std::int64_t now) noexcept {
    const auto kind = what_holds(cell_tag(l));
    if (kind == holds::counter)
        return owing_counter(l, duration, now);
    const auto has_end = kind == holds::window || kind == holds::distinct;
    return {.t = has_end ? now + duration : now,
            .debt = debt_for(l, duration),
            .num = l.num,
            .capacity = core::stored_capacity(l)};
}

} // namespace

const shared_states::set& shared_states::set_for(const hash::digest& id) const noexcept {
    return table_[set_of(id)];
}

void shared_states::restore(const hash::digest& id, const set& saved) noexcept {
    table_[set_of(id)] = saved;
}

std::int64_t shared_states::note::left(std::int64_t now) const noexcept {
    return remaining(until, since, now);
}

void shared_states::note::add(const slot& given_up, std::int64_t now) noexcept {
    const auto more = remaining(given_up.recovered_at, given_up.written_at, now);
    until = now + std::max({left(now), more, std::int64_t{0}});
    since = now;
}

template<class Set>
auto* shared_states::find(Set& s, const hash::digest& policy, std::uint32_t tag) noexcept {
    const auto found = std::ranges::find_if(
        s.slots, [&](const slot& one) { return one.tag == tag && one.policy == policy; });
    return found == s.slots.end() ? nullptr : &*found;
}

bool shared_states::read(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                         contents& c, core::event_log& log) const noexcept {
    const auto& s = table_[set_of(id)];
    const auto owed = s.owed.left(now);
    auto counts = false;
    const auto state_of = [&](std::uint32_t tag, std::int64_t left, const auto& made_up) {
        const auto* own = find(s, p.id, tag);
        if (own != nullptr ? own->recovered_at <= now : left <= 0)
            return core::rule_state{};
        counts = true;
        return own != nullptr ? own->state : made_up(left);
    };
    for (std::uint32_t i = 0; i < p.plan.slots; ++i) {
        const auto& l = p.plan.limits[i];
        if (l.kind != core::kind::log)
            c.states[i] =
                state_of(cell_tag(l), owed, [&](std::int64_t left) { return owing(l, left, now); });
    }
    if (p.plan.has_log) {
        // What was given up was no newer than the note of it.
        const auto all = state_of(log_tag, owed, [&](std::int64_t) {
            return core::rule_state{.t = std::min(now, s.owed.since),
                                    .debt = core::log_capacity(p.plan)};
        });
        (void)log.record(all.t, all.debt, std::max(core::log_period(p.plan), all.num), 1);
    }
    c.held.block = state_of(block_tag, s.held_up.left(now), [&](std::int64_t left) {
        return core::rule_state{.t = now, .debt = left, .num = 1, .capacity = 1};
    });
    return counts;
}

shared_states::slot& shared_states::make(set& s, const hash::digest& policy, std::uint32_t tag,
                                         std::int64_t now) noexcept {
    auto& chosen = *std::ranges::min_element(s.slots, {}, &slot::recovered_at);
    if (chosen.recovered_at > now) {
        const auto what = what_holds(chosen.tag);
        (what == holds::hold || what == holds::block ? s.held_up : s.owed).add(chosen, now);
    }
    chosen.policy = policy;
    chosen.tag = tag;
    return chosen;
}

void shared_states::write(const hash::digest& id, const detail::policy_data& p, std::int64_t now,
                          const contents& c, const core::event_log& log) noexcept {
    auto& s = table_[set_of(id)];
    const auto put = [&](std::uint32_t tag, const core::rule_state& state, std::int64_t matters) {
        auto* own = find(s, p.id, tag);
        auto& target = own != nullptr ? *own : make(s, p.id, tag, now);
        target.state = state;
        target.recovered_at = now + matters;
        target.written_at = now;
    };
    const auto matters = core::matters_for(p.plan, c.states, core::held{}, now);
    for (std::uint32_t i = 0; i < p.plan.slots; ++i)
        if (p.plan.limits[i].kind != core::kind::log)
            put(cell_tag(p.plan.limits[i]), c.states[i], matters);
    if (p.plan.has_log && !log.is_empty()) {
        const auto kept = log.kept_for(core::log_period(p.plan));
        put(log_tag, {.t = log.newest(now, kept), .debt = log.used(now, kept), .num = kept},
            core::matters_for(log, p.plan, now));
    }
    if (c.held.block.debt > 0)
        put(block_tag, c.held.block, c.held.block.debt);
}

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// Slots of shared states: found, made and given up.

#include <memory/shared_states.hpp>

#include <algorithm>

namespace colimit::memory {
namespace {

[[nodiscard]] std::size_t set_of(const digest& id) noexcept {
    return static_cast<std::size_t>(id.high % shared_states::sets);
}

/// How long a state that was stored at `t` or a little later still counts; one from after `now`
/// counts as one of now.
[[nodiscard]] std::int64_t remaining(std::int64_t recovered_at, std::int64_t t,
                                     std::int64_t now) noexcept {
    return recovered_at - std::max(t, now);
}

/// A state that recovers `duration` from now and not before.
[[nodiscard]] core::bucket_state owing(const core::bucket& b, std::int64_t duration,
                                       std::int64_t now) noexcept {
    const auto units = (duration - 1) / b.unit + 1;
    const auto debt = units > b.most / b.den ? b.most : units * b.den;
    return {.t = now, .debt = debt, .num = b.num, .capacity = b.capacity};
}

} // namespace

template<class Set>
auto* shared_states::find(Set& s, const digest& policy, std::uint32_t tag) noexcept {
    const auto found = std::ranges::find_if(
        s.slots, [&](const slot& one) { return one.tag == tag && one.policy == policy; });
    return found == s.slots.end() ? nullptr : &*found;
}

std::int64_t shared_states::still_owed(const set& s, std::int64_t now) noexcept {
    return remaining(s.owed_until, s.owed_since, now);
}

bool shared_states::read(const digest& id, const detail::policy_data& p, std::int64_t now,
                         std::span<core::bucket_state> states) const noexcept {
    const auto& s = table_[set_of(id)];
    const auto owed = still_owed(s, now);
    auto counts = false;
    for (std::uint32_t i = 0; i < p.plan.size; ++i) {
        const auto& b = p.plan.buckets[i];
        const auto* own = find(s, p.id, b.tag);
        if (own != nullptr ? own->recovered_at <= now : owed <= 0)
            continue;
        states[i] = own != nullptr ? own->state : owing(b, owed, now);
        counts = true;
    }
    return counts;
}

void shared_states::note_owed(set& s, const slot& given_up, std::int64_t now) noexcept {
    const auto owed =
        std::max(still_owed(s, now), remaining(given_up.recovered_at, given_up.state.t, now));
    s.owed_until = now + std::max<std::int64_t>(owed, 0);
    s.owed_since = now;
}

shared_states::slot& shared_states::make(set& s, const digest& policy, std::uint32_t tag,
                                         std::int64_t now) noexcept {
    auto& chosen = *std::ranges::min_element(s.slots, {}, &slot::recovered_at);
    if (chosen.recovered_at > now)
        note_owed(s, chosen, now);
    chosen.policy = policy;
    chosen.tag = tag;
    return chosen;
}

void shared_states::write(const digest& id, const detail::policy_data& p, std::int64_t now,
                          std::span<const core::bucket_state> states,
                          std::int64_t recovered_at) noexcept {
    auto& s = table_[set_of(id)];
    for (std::uint32_t i = 0; i < p.plan.size; ++i) {
        const auto tag = p.plan.buckets[i].tag;
        auto* own = find(s, p.id, tag);
        auto& target = own != nullptr ? *own : make(s, p.id, tag, now);
        target.state = states[i];
        target.recovered_at = recovered_at;
    }
}

} // namespace colimit::memory

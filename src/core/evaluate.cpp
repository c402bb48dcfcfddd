// SPDX-License-Identifier: BSL-1.0
//
// The generic cell rate algorithm, in its virtual scheduling form (ITU-T I.371), with the debt of a
// bucket instead of a theoretical arrival time: debt falls by `den` ticks a unit and never below 0,
// a token adds `num` ticks, and what fits below `full` is allowed. All integers, all below 2^53.

#include <core/evaluate.hpp>

#include <algorithm>

namespace colimit::core {
namespace {

using std::chrono::microseconds;
using states_span = std::span<bucket_state>;

/// Both arguments not negative; b at least 1. Without the sum a + b - 1, which could pass 2^53.
/// One token a unit is common enough to save a call most of its divisions.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
    return a == 0 ? 0 : b == 1 ? a : (a - 1) / b + 1;
}

/// Rounded towards minus infinity; b at least 1.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    return a >= 0 ? (b == 1 ? a : a / b) : -ceil_div(-a, b);
}

[[nodiscard]] constexpr std::int64_t in_units(std::int64_t us, std::int64_t unit) noexcept {
    return unit == 1 ? us : us / unit;
}

/// Writes the debt in the ticks of `b`, if it was counted with other numbers: whole tokens, rounded
/// up, and no more than the bucket holds, so that a change neither forgives nor locks out.
[[nodiscard]] bool convert(const bucket& b, bucket_state& s) noexcept {
    if (s.num == b.num && s.capacity == b.capacity)
        return false;
    const auto tokens = ceil_div(s.debt, s.num);
    s.debt = tokens >= b.capacity ? b.full : tokens * b.num;
    s.num = b.num;
    s.capacity = b.capacity;
    return true;
}

/// Brings a rule's state to `now`. True when what is stored must be replaced even by a refused
/// call.
[[nodiscard]] bool bring_to_now(const bucket& b, bucket_state& s, std::int64_t now) noexcept {
    const auto now_units = in_units(now, b.unit);
    const auto now_floor = now_units * b.unit;
    if (s.num == 0) {
        s = {.t = now_floor, .debt = 0, .num = b.num, .capacity = b.capacity};
        return false;
    }
    const auto converted = convert(b, s);
    const auto ahead = s.t > now;
    const auto elapsed =
        ahead ? 0
              : std::max<std::int64_t>(0, now_units - (b.unit == 1 ? s.t : ceil_div(s.t, b.unit)));
    s.debt = std::min(s.debt, b.most);
    s.debt = elapsed >= ceil_div(s.debt, b.den) ? 0 : s.debt - elapsed * b.den;
    s.t = now_floor;
    return converted || ahead;
}

/// From units of the rule to the caller's microseconds: exact in the rule's unit, from its rounded
/// now.
[[nodiscard]] microseconds wait_of(const bucket& b, std::int64_t units, std::int64_t now) noexcept {
    if (units == 0)
        return microseconds{0};
    return microseconds{b.unit == 1 ? units : b.unit * (now / b.unit + units) - now};
}

/// When this rule alone would grant `amount`.
[[nodiscard]] microseconds wait_for(const bucket& b, const bucket_state& s, std::int64_t amount,
                                    std::int64_t now) noexcept {
    if (amount > b.capacity)
        return never_again;
    const auto room = b.full - s.debt;
    const auto need = amount * b.num;
    return need <= room ? microseconds{0} : wait_of(b, ceil_div(need - room, b.den), now);
}

/// Adds without asking, up to where `charge` saturates; a debt that is above already stays.
void add_debt(const bucket& b, bucket_state& s, std::int64_t cost) noexcept {
    if (s.debt >= b.most)
        return;
    // A cost that the bucket could hold is below 2^53 ticks, so it needs no division to be safe.
    if (cost <= b.capacity)
        s.debt = std::min(b.most, s.debt + cost * b.num);
    else
        s.debt = cost > (b.most - s.debt) / b.num ? b.most : s.debt + cost * b.num;
}

void take_debt(const bucket& b, bucket_state& s, std::int64_t cost) noexcept {
    s.debt = cost >= ceil_div(s.debt, b.num) ? 0 : s.debt - cost * b.num;
}

/// The largest amount up to `asked.cost` that every rule has room for; -1 when a balance is
/// negative.
[[nodiscard]] std::int64_t fitting(const plan& rules, states_span states,
                                   const question& asked) noexcept {
    auto fits = asked.cost;
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& b = rules.buckets[i];
        const auto room = b.full - states[i].debt;
        if (b.shadow || (fits <= b.capacity && fits * b.num <= room))
            continue;
        fits = std::max<std::int64_t>(-1, floor_div(room, b.num));
    }
    return fits;
}

/// Whether rule `a` says more than rule `b` about a refusal (the longest wait) or about a grant
/// (the least remaining, then the longest recovery). Equal rules: the first stays.
[[nodiscard]] bool binds_more(bool refused, const rule_status& a, const rule_status& b) noexcept {
    if (refused)
        return a.retry_after > b.retry_after;
    if (a.remaining() != b.remaining())
        return a.remaining() < b.remaining();
    return a.reset_after > b.reset_after;
}

/// The index of the binding rule; shadow rules bind only where there is no other.
[[nodiscard]] std::uint8_t binding_rule(const plan& rules, const decision& answer) noexcept {
    auto found = rules.size;
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        if (rules.buckets[i].shadow)
            continue;
        if (found == rules.size ||
            binds_more(!answer.allowed(), answer.rules[i], answer.rules[found]))
            found = i;
    }
    return static_cast<std::uint8_t>(found == rules.size ? 0 : found);
}

/// Starts a status for each rule with what it says to `amount`, as the state is before any charge.
void note_waits(const plan& rules, states_span states, std::int64_t amount, std::int64_t now,
                decision& answer) noexcept {
    answer.rules.clear();
    for (std::uint32_t i = 0; i < rules.size; ++i)
        answer.rules.append().retry_after = wait_for(rules.buckets[i], states[i], amount, now);
}

/// Completes the answer from the state as it is after the call.
void report(const plan& rules, states_span states, std::int64_t now, decision& answer) noexcept {
    answer.origin = origin::store;
    answer.server_time = time_point{microseconds{now}};
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& b = rules.buckets[i];
        const auto& s = states[i];
        auto& status = answer.rules[i];
        status.limit = b.capacity;
        status.balance = floor_div(b.full - s.debt, b.num);
        status.reset_after = wait_of(b, ceil_div(s.debt, b.den), now);
        status.resolution = microseconds{b.unit};
    }
    answer.binding = binding_rule(rules, answer);
    const auto& bound = answer.rules[answer.binding];
    answer.limit = bound.limit;
    answer.remaining = bound.remaining();
    answer.retry_after = answer.allowed() ? microseconds{0} : bound.retry_after;
    answer.reset_after = bound.reset_after;
}

[[nodiscard]] bool asks_too_much(const plan& rules, std::int64_t amount) noexcept {
    return std::ranges::any_of(
        rules.rules(), [amount](const bucket& b) { return !b.shadow && amount > b.capacity; });
}

/// A state in which nothing is owed is the same as none.
[[nodiscard]] effect effect_of_change(states_span states, held what) noexcept {
    for (const auto& s : states)
        if (s.debt != 0)
            return effect::store;
    return what.exists ? effect::erase : effect::nothing;
}

/// `allow` and `peek`: decides, and charges what `allow` grants. True when the state changed.
[[nodiscard]] bool decide(const plan& rules, states_span states, const question& asked,
                          decision& answer) noexcept {
    const auto fits = fitting(rules, states, asked);
    const auto granted = fits >= asked.at_least;
    answer.outcome = granted                                ? outcome::allowed
                     : asks_too_much(rules, asked.at_least) ? outcome::never
                                                            : outcome::limited;
    answer.granted = granted ? fits : 0;
    note_waits(rules, states, asked.at_least, asked.now, answer);
    if (asked.verb == verb::peek || answer.granted == 0)
        return false;
    for (std::uint32_t i = 0; i < rules.size; ++i)
        add_debt(rules.buckets[i], states[i], answer.granted);
    return true;
}

/// `charge` and `refund`: changes the debt and answers as a peek of cost 0 afterwards.
[[nodiscard]] bool settle(const plan& rules, states_span states, const question& asked,
                          decision& answer) noexcept {
    auto changed = false;
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        auto& s = states[i];
        const auto before = s.debt;
        (asked.verb == verb::charge ? add_debt : take_debt)(rules.buckets[i], s, asked.cost);
        changed = changed || s.debt != before;
    }
    const auto none = question{.verb = verb::peek, .cost = 0, .at_least = 0, .now = asked.now};
    answer.outcome = fitting(rules, states, none) >= 0 ? outcome::allowed : outcome::limited;
    answer.granted = 0;
    note_waits(rules, states, 0, asked.now, answer);
    return changed;
}

} // namespace

effect evaluate(const plan& rules, std::span<bucket_state> states, held& what,
                const question& asked, decision& answer) noexcept {
    if (asked.verb == verb::reset)
        std::ranges::fill(states, bucket_state{});
    auto repaired = what.stale || asked.verb == verb::reset;
    for (std::uint32_t i = 0; i < rules.size; ++i)
        repaired = bring_to_now(rules.buckets[i], states[i], asked.now) || repaired;

    const auto asks = asked.verb == verb::allow || asked.verb == verb::peek;
    const auto changed =
        asks ? decide(rules, states, asked, answer) : settle(rules, states, asked, answer);
    report(rules, states, asked.now, answer);

    const auto silent = asked.verb == verb::peek || answer.outcome == outcome::never;
    auto next = effect::nothing;
    if (!silent && (changed || repaired))
        next = effect_of_change(states, what);
    what.stale = silent && repaired;
    if (next != effect::nothing)
        what.exists = next == effect::store;
    return next;
}

effect evaluate(const plan& rules, key_state& state, const question& asked,
                decision& answer) noexcept {
    return evaluate(rules, std::span{state.buckets.data(), rules.size}, state, asked, answer);
}

std::int64_t recovery_time(const plan& rules, const key_state& state) noexcept {
    auto longest = std::int64_t{0};
    for (std::uint32_t i = 0; i < rules.size; ++i) {
        const auto& b = rules.buckets[i];
        longest = std::max(longest, ceil_div(state.buckets[i].debt, b.den) * b.unit);
    }
    return longest;
}

} // namespace colimit::core

// SPDX-License-Identifier: BSL-1.0
//
// Decides which calls ask for a lease of which size, how long it is held, and which calls it
// decides.

#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <limiter/cache_rules.hpp>
#include <limiter/lease_table.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

namespace colimit::detail {
namespace {

using std::chrono::microseconds;

/// The further calls that one call makes. More than that many are granted in the time of one, but
/// an entry of a batch counts its calls in 16 bits.
constexpr std::int64_t most_further_calls = 16'384;

/// The part of what remains in the store that one lease may take, so that other processes have
/// something left.
constexpr std::int64_t part_of_room = 4;

/// The part of a lease that is left when the next one is asked for: enough for the calls that come
/// until its reply. What is left of more leases at a time lapses more often.
constexpr std::int64_t part_left = 8;

/// A lease is by so many standard deviations smaller than the number of calls that is expected, if
/// they come at random: as many as expected would mostly not come in time, and lapse.
constexpr double margin = 0.75;

/// What was spent counts for the last leases, and less for each one before: the older ones together
/// as much as the last eight. What lapsed is forgotten after some hundred periods without a lease.
constexpr double memory_of_leases = 8;
constexpr double memory_of_periods = 64;

/// Returns whether what was taken before the call must not be spent after it began.
[[nodiscard]] bool ends_leases(verb v) noexcept {
    return v == verb::reset || v == verb::block;
}

/// Returns whether a lease may decide the call: an `allow` of all or nothing, at the store's time.
[[nodiscard]] bool may_be_leased(const operation& op, const policy_data& p) noexcept {
    const auto& r = op.request;
    return p.may_lease && op.kind == call_kind::one && r.verb == verb::allow && r.cost > 0 &&
           r.at_least == r.cost && r.now == store_clock && !r.has_id;
}

/// Returns the longest time for which tokens that the store has granted may be spent.
[[nodiscard]] std::int64_t time_of_lease(const policy_data& p, const decision& d) noexcept {
    auto time = p.options.leases;
    const auto now = d.server_time.time_since_epoch().count();
    for (std::size_t i = 0; i < p.compiled.size; ++i)
        time = std::min(
            time, core::lease_time(p.compiled.limits[i], d.rules[i].reset_after.count(), now));
    return time;
}

} // namespace

lease_table::lease_table(std::size_t capacity, clock now) : now_(now), table_(capacity) {}

/// Returns the entry of the key, or a new one that replaces the one that has been idle for the
/// longest time; null if all of them hold tokens, or there is no memory.
lease_table::entry* lease_table::find_or_make(const hash::digest& key, const policy_data& p,
                                              std::int64_t now) noexcept {
    if (auto* own = find(key); own != nullptr)
        return own;
    try {
        auto* made = table_.find_or_insert(key.low, key.high, [&](entry& other) {
            lapse_ended(other, now);
            return other.held() == 0 ? other.began : set_table<entry>::stays;
        });
        if (made != nullptr)
            restart(*made, p, now);
        return made;
    } catch (const std::bad_alloc&) { // all calls ask the store
        return nullptr;
    }
}

/// Begins an entry, which has no tokens.
void lease_table::restart(entry& e, const policy_data& p, std::int64_t now) noexcept {
    BOOST_ASSERT(e.held() == 0);
    e.rules = p.fingerprint;
    e.began = now;
    e.demand = e.before = 0;
    e.taken = e.lapsed = 0;
    e.stamp = ++stamps_;
    e.is_asking = false;
    e.room = e.granted = 0;
}

void lease_table::lapse(lot& of) noexcept {
    lapsed_ += static_cast<std::uint64_t>(std::exchange(of.tokens, 0));
}

void lease_table::lapse_ended(entry& e, std::int64_t now) noexcept {
    for (auto& l : e.lots)
        if (l.tokens != 0 && now >= l.ends) {
            e.lapsed += static_cast<double>(l.tokens);
            lapse(l);
        }
}

void lease_table::drop(entry& e) noexcept {
    for (auto& l : e.lots)
        lapse(l);
    e.stamp = ++stamps_;
    e.is_asking = false;
}

void lease_table::begin_other(verb v, const hash::digest& key, const policy_data& p) noexcept {
    auto* e = find(key);
    if (e != nullptr && (ends_leases(v) || e->rules != p.fingerprint))
        drop(*e);
}

bool lease_table::try_decide(operation& op, const policy_data& p) noexcept {
    if (!may_be_leased(op, p)) {
        if (!core::traits_of(op.request.verb).only_asks)
            begin_other(op.request.verb, op.key_digest, p);
        return false;
    }
    const auto now = now_();
    auto* e = find_or_make(op.key_digest, p, now);
    if (e == nullptr)
        return false;
    if (e->rules != p.fingerprint) { // another version of the policy
        drop(*e);
        restart(*e, p, now);
    }
    count_demand(*e, p, op.request.cost, now);
    lapse_ended(*e, now);
    const auto left = e->held() - op.request.cost;
    if (left < 0 ||
        (!e->is_asking && left < e->granted / part_left && wanted(*e, p, op, now) > 0)) {
        op.lease = {.is_known = true};
        return false;
    }
    spend(*e, op, p, now);
    return true;
}

/// Counts the tokens of a call.
void lease_table::count_demand(entry& e, const policy_data& p, std::int64_t cost,
                               std::int64_t now) noexcept {
    const auto length = p.options.leases;
    if (const auto passed = now - e.began; passed >= length) {
        e.before = passed < 2 * length ? e.demand : 0;
        e.demand = 0;
        e.lapsed *= 1 - 1 / memory_of_periods;
        e.began = passed < 2 * length ? e.began + length : now;
    }
    e.demand += static_cast<double>(cost);
}

/// Returns for how long tokens could be spent if a call asked for them now: less at the end of a
/// window, and not before the reply comes.
std::int64_t lease_table::time_to_spend(const entry& e, const policy_data& p,
                                        std::int64_t now) noexcept {
    const auto passed = now - e.replied_at;
    auto time = p.options.leases;
    for (std::size_t i = 0; i < p.compiled.size; ++i)
        time =
            std::min(time, core::lease_time(p.compiled.limits[i], e.parts[i].reset_after - passed,
                                            e.server_time + passed));
    return std::max<std::int64_t>(time - e.trip, 0);
}

/// Returns how many further calls a call should make for a lease: those that are expected while it
/// can be spent, less what is likely to lapse; but no more than a part of what the store has left.
/// A single one is not worth it.
std::int64_t lease_table::wanted(const entry& e, const policy_data& p, const operation& op,
                                 std::int64_t now) const noexcept {
    const auto most = std::min(e.room / part_of_room / op.request.cost, most_further_calls);
    if (most <= 0)
        return 0;
    const auto length = static_cast<double>(p.options.leases);
    const auto passed = static_cast<double>(now - e.began);
    const auto demand = e.demand + e.before * std::max(0.0, 1 - passed / length);
    const auto spent = e.taken == 0 ? 1 : std::max(0.0, 1 - e.lapsed / e.taken);
    const auto expected = demand * spent * static_cast<double>(time_to_spend(e, p, now)) / length;
    const auto cost = static_cast<double>(op.request.cost);
    const auto tokens = expected - margin * std::sqrt(expected * cost);
    const auto calls = (tokens - static_cast<double>(e.held())) / cost;
    return calls < 2 ? 0 : std::min(most, static_cast<std::int64_t>(calls - 1));
}

void lease_table::ask(operation& op, const policy_data& p) noexcept {
    auto& lease = op.lease;
    auto* e = find(op.key_digest);
    if (e == nullptr || e->is_asking)
        return;
    lease.further_calls = static_cast<std::uint32_t>(wanted(*e, p, op, now_()));
    if (lease.further_calls == 0)
        return;
    lease.stamp = e->stamp;
    lease.is_asking = e->is_asking = true;
}

/// Holds the tokens of a lease.
void lease_table::keep(entry& e, lot granted) noexcept {
    // There are places for two: tokens of earlier leases end together.
    if (auto& [first, last] = e.lots; last.tokens != 0) {
        first.ends = first.tokens == 0 ? last.ends : std::min(first.ends, last.ends);
        first.tokens += last.tokens;
    }
    e.lots[1] = granted;
    e.granted = e.held();
    e.taken = e.taken * (1 - 1 / memory_of_leases) + static_cast<double>(granted.tokens);
    e.lapsed *= 1 - 1 / memory_of_leases;
}

/// Stores what the store has reported, after it has also granted the tokens of a lease.
void lease_table::report(entry& e, const policy_data& p, const decision& d, std::int64_t tokens,
                         std::int64_t sent_at, std::int64_t replied_at) noexcept {
    e.room = d.remaining - tokens;
    e.replied_at = replied_at;
    e.trip = replied_at - sent_at;
    e.server_time = d.server_time.time_since_epoch().count();
    e.limiting_rule = d.limiting_rule;
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        e.parts[i] = {d.rules[i].balance - tokens,
                      d.rules[i].reset_after.count() +
                          core::delay_of(p.compiled.limits[i], tokens)};
}

void lease_table::note(operation& op, std::int64_t replied_at) noexcept {
    auto& lease = op.lease;
    if (!lease.is_known)
        return;
    const auto& p = *op.fallback.policy;
    auto* e = find(op.key_digest);
    const auto has_asked = std::exchange(lease.is_asking, false);
    const auto is_current = e != nullptr && has_asked && e->stamp == lease.stamp;
    if (is_current)
        e->is_asking = false;
    if (op.ec || op.result.source != decision_source::store)
        return;
    const auto tokens = lease.granted * op.request.cost;
    if (e != nullptr && e->rules == p.fingerprint) {
        report(*e, p, op.result, tokens, op.sent_at, replied_at);
        if (op.result.reason == denial_reason::block)
            drop(*e);
    }
    if (tokens == 0 || !has_asked)
        return;
    ++leases_;
    taken_ += static_cast<std::uint64_t>(tokens);
    const auto ends = op.sent_at + minus_clock_tolerance(time_of_lease(p, op.result));
    if (is_current && op.result.allowed() && replied_at < ends)
        keep(*e, {tokens, ends});
    else
        lapsed_ += static_cast<std::uint64_t>(tokens);
}

bool lease_table::try_settle(operation& op, bool may_decide) noexcept {
    auto& lease = op.lease;
    if (!lease.is_known)
        return false;
    auto* e = find(op.key_digest);
    if (e != nullptr && std::exchange(lease.is_asking, false) && e->stamp == lease.stamp)
        e->is_asking = false; // it could not be sent
    const auto& p = *op.fallback.policy;
    const auto is_denied =
        !op.ec && op.result.outcome == outcome::denied && op.result.reason == denial_reason::rule;
    if (e == nullptr || e->rules != p.fingerprint)
        return false;
    if (op.ec ? may_decide : is_denied) {
        const auto now = now_();
        lapse_ended(*e, now);
        if (e->held() >= op.request.cost) {
            spend(*e, op, p, now);
            op.ec = {};
            return true;
        }
    }
    // What does not fit is no reason to take other tokens for it.
    if (!op.ec && !op.result.allowed())
        e->demand = std::max(0.0, e->demand - static_cast<double>(op.request.cost));
    return false;
}

/// Decides a call with tokens that are held, those that end first.
void lease_table::spend(entry& e, operation& op, const policy_data& p, std::int64_t now) noexcept {
    auto rest = op.request.cost;
    BOOST_ASSERT(e.held() >= rest);
    for (auto& l : e.lots) {
        const auto part = std::min(l.tokens, rest);
        l.tokens -= part;
        rest -= part;
    }
    spent_ += static_cast<std::uint64_t>(op.request.cost);

    const auto held = e.held();
    const auto passed = now - e.replied_at;
    auto& out = op.result;
    access::clear(out.rules);
    for (std::size_t i = 0; i < p.compiled.size; ++i) {
        const auto& l = p.compiled.limits[i];
        const auto& part = e.parts[i];
        access::append(out.rules) = {
            .limit = l.capacity,
            .balance = part.balance + held,
            .retry_after = microseconds{0},
            .reset_after = microseconds{std::max<std::int64_t>(part.reset_after - passed, 0)},
            .resolution = microseconds{l.unit}};
    }
    const auto& limiting = out.rules[e.limiting_rule];
    out.outcome = outcome::allowed;
    out.source = decision_source::lease;
    out.reason = denial_reason::rule;
    out.limiting_rule = e.limiting_rule;
    out.limiting_check = 0;
    out.granted = op.request.cost;
    out.limit = limiting.limit;
    out.remaining = limiting.remaining();
    out.retry_after = microseconds{0};
    out.reset_after = limiting.reset_after;
    out.server_time = time_point{microseconds{e.server_time + passed}};
}

void lease_table::clear() noexcept {
    lapsed_ = taken_ - spent_;
    table_.clear();
}

void lease_table::add_statistics(colimit::statistics& to) const noexcept {
    to.leases += leases_;
    to.lease_tokens_taken += taken_;
    to.lease_tokens_spent += spent_;
    to.lease_tokens_lapsed += lapsed_;
}

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// Decides which denials are cached, which calls they deny, and with which result.

#include <core/verb_traits.hpp>
#include <limiter/cache_rules.hpp>
#include <limiter/deny_cache.hpp>

#include <algorithm>
#include <chrono>
#include <new>

namespace colimit::detail {
namespace {

using std::chrono::microseconds;

/// Returns a time that was this long `passed` microseconds ago, as of now.
[[nodiscard]] microseconds aged(std::int64_t time, std::int64_t passed) noexcept {
    const auto then = microseconds{time};
    return then == never_again ? then : microseconds{std::max<std::int64_t>(time - passed, 0)};
}

/// Returns whether denials under the policy may be cached: not if denied calls are counted too, and
/// not for members, as a later one may be known already.
[[nodiscard]] bool is_remembered(const policy_data& p, std::int64_t clock) noexcept {
    return clock == store_clock && !p.compiled.has_distinct && !p.compiled.counts_denied;
}

[[nodiscard]] deny_cache_position position_of(const hash::digest& key,
                                              const policy_data& p) noexcept {
    return {.low = key.low, .high = key.high, .rules = p.fingerprint, .is_known = true};
}

} // namespace

deny_cache::deny_cache(std::size_t capacity, std::int64_t max_age, clock now)
    : now_(now), max_age_(max_age), table_(capacity) {}

deny_cache_position deny_cache::begin_check(const hash::digest& key, const policy_data& p,
                                            const check_options& options) noexcept {
    auto at = position_of(key, p);
    at.is_open = is_remembered(p, clock_of(options.now));
    at.changes = changes_of(at);
    if (const auto* d = find(at); d != nullptr && d->rules != at.rules)
        table_.erase(d);
    return at;
}

bool deny_cache::try_decide(operation& op, const hash::digest& key, const policy_data& p) noexcept {
    auto& at = op.denied_at = position_of(key, p);
    const auto asks = core::traits_of(op.request.verb).tests_amount;
    // A call with an id may have been decided long ago.
    at.is_open = is_remembered(p, op.request.now) && !op.request.has_id;
    at.changes = changes_of(at) += asks ? 0U : 1U;
    const auto* found = find(at);
    if (found == nullptr)
        return false;
    const auto& d = *found;
    const auto now = now_();
    if (!asks || d.rules != at.rules || now >= d.ends) {
        table_.erase(found);
        return false;
    }
    if (op.request.verb != verb::allow || !at.is_open || op.request.at_least < d.at_least ||
        p.compiled.never_allows(op.request.at_least))
        return false;

    const auto passed = std::max<std::int64_t>(now - d.replied_at, 0);
    auto& out = op.result;
    out.outcome = outcome::denied;
    out.source = decision_source::deny_cache;
    out.reason = d.reason;
    out.limiting_rule = d.limiting_rule;
    out.granted = 0;
    out.limit = d.limit;
    out.remaining = d.remaining;
    out.retry_after = aged(d.retry_after, passed);
    out.reset_after = aged(d.reset_after, passed);
    out.server_time = time_point{microseconds{d.server_time + passed}};
    access::clear(out.rules);
    for (std::size_t r = 0; r < p.compiled.size; ++r)
        access::append(out.rules) = {.limit = p.compiled.limits[r].capacity,
                                     .balance = d.parts[r].balance,
                                     .retry_after = aged(d.parts[r].retry_after, passed),
                                     .reset_after = aged(d.parts[r].reset_after, passed),
                                     .resolution = microseconds{p.compiled.limits[r].unit}};
    return true;
}

void deny_cache::note(const operation& op, std::int64_t replied_at) noexcept {
    // A denial of a call with an id may be old, and says nothing about the one that is cached.
    const auto is_old = op.request.has_id && op.request.verb == verb::allow && !op.ec &&
                        op.result.outcome == outcome::denied;
    if (op.denied_at.is_known && !is_old)
        on_reply(op.denied_at, {.may_change = !core::traits_of(op.request.verb).only_asks,
                                .may_replace = core::traits_of(op.request.verb).tests_amount,
                                .may_be_kept = op.request.verb == verb::allow,
                                .at_least = op.request.at_least,
                                .sent_at = op.sent_at,
                                .replied_at = replied_at,
                                .ec = op.ec,
                                .result = op.result});
}

void deny_cache::note_check(const operation& op, const check_item& c, const deny_cache_position& at,
                            std::int64_t replied_at) noexcept {
    on_reply(at, {.may_change = true,
                  .may_replace = true,
                  .may_be_kept = false,
                  .at_least = c.options.at_least.value_or(c.options.cost),
                  .sent_at = op.sent_at,
                  .replied_at = replied_at,
                  .ec = op.ec,
                  .result = c.result});
}

/// Returns whether the reply is a denial that other calls may be given.
bool deny_cache::is_denial(const deny_cache_position& at, const reply_event& e) noexcept {
    return at.is_open && e.result.outcome == outcome::denied &&
           e.result.source == decision_source::store && at.changes == changes_of(at);
}

/// Returns whether both decisions are about one state at one instant, and the cached denial covers
/// more costs.
bool deny_cache::is_same_instant(const denial& d, const deny_cache_position& at,
                                 const reply_event& e) noexcept {
    const auto& r = e.result;
    const auto changed = !e.may_replace || (e.may_change && r.granted > 0);
    const auto agrees = r.allowed() ? e.at_least < d.at_least : e.at_least > d.at_least;
    return !changed && agrees && d.rules == at.rules &&
           d.server_time == r.server_time.time_since_epoch().count();
}

std::int64_t deny_cache::end_of(const reply_event& e) const noexcept {
    return e.sent_at + std::min(max_age_, minus_clock_tolerance(e.result.retry_after.count()));
}

void deny_cache::on_reply(const deny_cache_position& at, const reply_event& e) noexcept {
    const auto* known = find(at);
    if (e.ec) {
        if (!e.may_change)
            return;
        ++changes_of(at);
        return table_.erase(known);
    }
    if (known != nullptr && is_same_instant(*known, at, e))
        return;
    const auto has_same_rules = known != nullptr && known->rules == at.rules;
    const auto has_use = e.may_be_kept || (e.may_replace && has_same_rules);
    if (!has_use || !is_denial(at, e) || end_of(e) <= e.replied_at)
        return table_.erase(known);
    try {
        insert(at, e);
    } catch (const std::bad_alloc&) { // the next call goes to the server
    }
}

void deny_cache::insert(const deny_cache_position& at, const reply_event& e) {
    auto& to =
        *table_.find_or_insert(at.low, at.high, [](const denial& other) { return other.ends; });
    const auto& d = e.result;
    to = {.digest = at.low,
          .rules = at.rules,
          .at_least = e.at_least,
          .ends = end_of(e),
          .replied_at = e.replied_at,
          .server_time = d.server_time.time_since_epoch().count(),
          .limit = d.limit,
          .remaining = d.remaining,
          .retry_after = d.retry_after.count(),
          .reset_after = d.reset_after.count(),
          .reason = d.reason,
          .limiting_rule = d.limiting_rule,
          .parts = {}};
    for (std::size_t r = 0; r < d.rules.size(); ++r)
        to.parts[r] = {d.rules[r].balance, d.rules[r].retry_after.count(),
                       d.rules[r].reset_after.count()};
}

} // namespace colimit::detail

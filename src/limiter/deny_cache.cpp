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

} // namespace

deny_cache::deny_cache(std::size_t capacity, std::int64_t max_age, clock now)
    : now_(now), max_age_(max_age), table_(capacity) {}

deny_cache_note deny_cache::begin_check(const hash::digest& key, const policy_data& p,
                                        const check_options& options) noexcept {
    if (const auto* d = find(key); d != nullptr && d->rules != p.fingerprint)
        table_.erase(d);
    return {.rules = p.fingerprint,
            .changes = changes_of(key),
            .is_known = true,
            .is_open = is_remembered(p, clock_of(options.now))};
}

bool deny_cache::try_decide(operation& op, const policy_data& p) noexcept {
    const auto& key = op.key_digest;
    const auto asks = core::traits_of(op.request.verb).tests_amount;
    auto& begun = op.denial;
    begun = {.rules = p.fingerprint,
             .changes = changes_of(key) += asks ? 0U : 1U,
             .is_known = true,
             // A call with an id may have been decided long ago.
             .is_open = is_remembered(p, op.request.now) && !op.request.has_id};
    const auto* found = find(key);
    if (found == nullptr)
        return false;
    const auto& d = *found;
    const auto now = now_();
    if (!asks || d.rules != begun.rules || now >= d.ends) {
        table_.erase(found);
        return false;
    }
    if (op.request.verb != verb::allow || !begun.is_open || op.request.at_least < d.at_least ||
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
    if (op.denial.is_known && !is_old)
        on_reply({.key = op.key_digest,
                  .begun = op.denial,
                  .may_change = !core::traits_of(op.request.verb).only_asks,
                  .may_replace = core::traits_of(op.request.verb).tests_amount,
                  .may_be_kept = op.request.verb == verb::allow,
                  .at_least = op.request.at_least,
                  .sent_at = op.sent_at,
                  .replied_at = replied_at,
                  .ec = op.ec,
                  .result = op.result});
}

void deny_cache::note_check(const operation& op, const check_item& c, const hash::digest& key,
                            const deny_cache_note& begun, std::int64_t replied_at) noexcept {
    on_reply({.key = key,
              .begun = begun,
              .may_change = true,
              .may_replace = true,
              .may_be_kept = false,
              .at_least = c.options.at_least.value_or(c.options.cost),
              .sent_at = op.sent_at,
              .replied_at = replied_at,
              .ec = op.ec,
              .result = c.result});
}

/// Returns whether the reply is a denial that other calls may be given.
bool deny_cache::is_denial(const reply_event& e) noexcept {
    return e.begun.is_open && e.result.outcome == outcome::denied &&
           e.result.source == decision_source::store && e.begun.changes == changes_of(e.key);
}

/// Returns whether both decisions are about one state at one instant, and the cached denial covers
/// more costs.
bool deny_cache::is_same_instant(const denial& d, const reply_event& e) noexcept {
    const auto& r = e.result;
    const auto changed = !e.may_replace || (e.may_change && r.granted > 0);
    const auto agrees = r.allowed() ? e.at_least < d.at_least : e.at_least > d.at_least;
    return !changed && agrees && d.rules == e.begun.rules &&
           d.server_time == r.server_time.time_since_epoch().count();
}

std::int64_t deny_cache::end_of(const reply_event& e) const noexcept {
    return e.sent_at + std::min(max_age_, minus_clock_tolerance(e.result.retry_after.count()));
}

void deny_cache::on_reply(const reply_event& e) noexcept {
    const auto* known = find(e.key);
    if (e.ec) {
        if (!e.may_change)
            return;
        ++changes_of(e.key);
        return table_.erase(known);
    }
    if (known != nullptr && is_same_instant(*known, e))
        return;
    const auto has_same_rules = known != nullptr && known->rules == e.begun.rules;
    const auto has_use = e.may_be_kept || (e.may_replace && has_same_rules);
    if (!has_use || !is_denial(e) || end_of(e) <= e.replied_at)
        return table_.erase(known);
    try {
        insert(e);
    } catch (const std::bad_alloc&) { // the next call goes to the server
    }
}

void deny_cache::insert(const reply_event& e) {
    auto& to = *table_.find_or_insert(e.key.low, e.key.high,
                                      [](const denial& other) { return other.ends; });
    const auto& d = e.result;
    to = {.digest = e.key.low,
          .rules = e.begun.rules,
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

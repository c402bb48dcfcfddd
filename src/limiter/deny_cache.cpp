// SPDX-License-Identifier: BSL-1.0
//
// Decides which denials are cached, which calls they deny, and with which result.

#include <core/verb_traits.hpp>
#include <limiter/cache_rules.hpp>
#include <limiter/deny_cache.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <ranges>

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

[[nodiscard]] deny_cache_slot place_of(const hash::digest& key, const policy_data& p) noexcept {
    return {.low = key.low, .high = key.high | 1U, .rules = p.fingerprint, .is_known = true};
}

} // namespace

deny_cache::deny_cache(std::size_t most, std::int64_t max_age, clock now)
    : now_(now), max_age_(max_age), ways_(std::min(most, most_ways)),
      rows_(std::bit_floor(most / ways_)) {}
std::size_t deny_cache::find(const deny_cache_slot& at) const noexcept {
    if (size_ == 0)
        return nowhere;
    const auto row = row_of(at);
    for (auto i = row; i < row + ways_; ++i)
        if (table_->tags[i] == at.high && table_->denials[i].digest == at.low)
            return i;
    return nowhere;
}

/// Returns the entry of this key, a free one, or the one that expires first.
std::size_t deny_cache::place_for(const deny_cache_slot& at) const noexcept {
    if (const auto own = find(at); own != nowhere)
        return own;
    const auto places = std::views::iota(row_of(at), row_of(at) + ways_);
    return std::ranges::min(places, {}, [this](std::size_t i) {
        return table_->tags[i] == 0 ? INT64_MIN : table_->denials[i].ends;
    });
}

void deny_cache::end(std::size_t i) noexcept {
    if (i == nowhere)
        return;
    table_->tags[i] = 0;
    --size_;
}

deny_cache_slot deny_cache::begin_check(const hash::digest& key, const policy_data& p,
                                        const check_options& options) noexcept {
    auto at = place_of(key, p);
    at.is_open = is_remembered(p, clock_of(options.now));
    at.changes = changes_of(at);
    if (const auto i = find(at); i != nowhere && table_->denials[i].rules != at.rules)
        end(i);
    return at;
}

bool deny_cache::answer(operation& op, const hash::digest& key, const policy_data& p) noexcept {
    auto& at = op.denied_at = place_of(key, p);
    const auto asks = core::traits_of(op.request.verb).tests_amount;
    // A call with an id may have been decided long ago.
    at.is_open = is_remembered(p, op.request.now) && !op.request.has_id;
    at.changes = changes_of(at) += asks ? 0U : 1U;
    const auto i = find(at);
    if (i == nowhere)
        return false;
    const auto& d = table_->denials[i];
    const auto now = now_();
    if (!asks || d.rules != at.rules || now >= d.ends) {
        end(i);
        return false;
    }
    if (op.request.verb != verb::allow || !at.is_open || op.request.at_least < d.at_least ||
        p.compiled.never_allows(op.request.at_least))
        return false;

    const auto passed = std::max<std::int64_t>(now - d.heard_at, 0);
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

void deny_cache::note(const operation& op, std::int64_t heard_at) noexcept {
    // A denial of a call with an id may be old, and says nothing about the one that is cached.
    const auto is_old = op.request.has_id && op.request.verb == verb::allow && !op.ec &&
                        op.result.outcome == outcome::denied;
    if (op.denied_at.is_known && !is_old)
        learn(op.denied_at, {.may_change = !core::traits_of(op.request.verb).only_asks,
                             .may_replace = core::traits_of(op.request.verb).tests_amount,
                             .may_be_kept = op.request.verb == verb::allow,
                             .at_least = op.request.at_least,
                             .sent_at = op.sent_at,
                             .heard_at = heard_at,
                             .ec = op.ec,
                             .result = op.result});
}

void deny_cache::note_check(const operation& op, const check_item& c, const deny_cache_slot& at,
                            std::int64_t heard_at) noexcept {
    learn(at, {.may_change = true,
               .may_replace = true,
               .may_be_kept = false,
               .at_least = c.options.at_least.value_or(c.options.cost),
               .sent_at = op.sent_at,
               .heard_at = heard_at,
               .ec = op.ec,
               .result = c.result});
}

/// Returns whether the reply is a denial that other calls may be given.
bool deny_cache::is_denial(const deny_cache_slot& at, const news& n) noexcept {
    return at.is_open && n.result.outcome == outcome::denied &&
           n.result.source == decision_source::store && at.changes == changes_of(at);
}

/// Returns whether both decisions are about one state at one instant, and the cached denial covers
/// more costs.
bool deny_cache::stands_beside(const denial& d, const deny_cache_slot& at, const news& n) noexcept {
    const auto& r = n.result;
    const auto changed = !n.may_replace || (n.may_change && r.granted > 0);
    const auto agrees = r.allowed() ? n.at_least < d.at_least : n.at_least > d.at_least;
    return !changed && agrees && d.rules == at.rules &&
           d.server_time == r.server_time.time_since_epoch().count();
}

std::int64_t deny_cache::end_of(const news& n) const noexcept {
    return n.sent_at + std::min(max_age_, surely(n.result.retry_after.count()));
}

void deny_cache::learn(const deny_cache_slot& at, const news& n) noexcept {
    const auto i = find(at);
    if (n.ec) {
        if (!n.may_change)
            return;
        ++changes_of(at);
        return end(i);
    }
    if (i != nowhere && stands_beside(table_->denials[i], at, n))
        return;
    const auto has_same_rules = i != nowhere && table_->denials[i].rules == at.rules;
    const auto has_use = n.may_be_kept || (n.may_replace && has_same_rules);
    if (!has_use || !is_denial(at, n) || end_of(n) <= n.heard_at)
        return end(i);
    try {
        remember(at, n);
    } catch (const std::bad_alloc&) { // the next call goes to the server
    }
}

void deny_cache::remember(const deny_cache_slot& at, const news& n) {
    if (!table_)
        table_.emplace(rows_ * ways_);
    const auto i = place_for(at);
    size_ += table_->tags[i] == 0 ? 1U : 0U;
    table_->tags[i] = at.high;
    const auto& d = n.result;
    auto& to = table_->denials[i];
    to = {.digest = at.low,
          .rules = at.rules,
          .at_least = n.at_least,
          .ends = end_of(n),
          .heard_at = n.heard_at,
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

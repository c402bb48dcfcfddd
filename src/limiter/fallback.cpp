// SPDX-License-Identifier: BSL-1.0
//
// The in-process store behind a server, and the modes that need no store.

#include <base/clocks.hpp>
#include <core/evaluate.hpp>
#include <core/verb_traits.hpp>
#include <limiter/fallback.hpp>
#include <limiter/kept_checks.hpp>
#include <limiter/limiter_core.hpp>
#include <policy/scaled_policy.hpp>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace colimit::detail {

namespace {

/// Returns a digest as a key.
[[nodiscard]] std::string_view bytes_of(const hash::digest& d) noexcept {
    static_assert(sizeof(hash::digest) == 2 * sizeof(std::uint64_t));
    return {reinterpret_cast<const char*>(&d), sizeof d}; // NOLINT: any bytes are a key
}

/// Returns the stricter mode for checks that are made together: an error leaves the decision to the
/// caller, and allowing everything is weaker than any limit.
[[nodiscard]] failure_mode stricter(failure_mode a, failure_mode b) noexcept {
    const auto rank = [](failure_mode m) {
        return m == failure_mode::allow ? -1 : static_cast<int>(m);
    };
    return rank(a) < rank(b) ? b : a;
}

/// Sets the status of rules without a store: nothing is used, or nothing is left.
void report(const core::compiled_policy& rules, bool allowed, decision& d) noexcept {
    for (const auto& l : rules.rules()) {
        auto& status = access::append(d.rules);
        status.limit = l.capacity;
        status.balance = allowed ? l.capacity : 0;
        status.retry_after = d.retry_after;
        status.resolution = std::chrono::microseconds{l.unit};
        if (d.rules.size() == 1 || l.capacity < d.limit) {
            d.limiting_rule = static_cast<std::uint8_t>(d.rules.size() - 1);
            d.limit = status.limit;
            d.remaining = status.balance;
        }
    }
}

/// Returns whether the policy denies no call, as all of it is in shadow mode. `once` has no rules.
[[nodiscard]] bool only_observes(const core::compiled_policy& rules) noexcept {
    return rules.size > 0 && std::ranges::all_of(rules.all(), &core::compiled_rule::shadow);
}

/// @param mode allow or deny
[[nodiscard]] decision static_decision(failure_mode mode, const policy_data& p,
                                       const call_request& request,
                                       std::chrono::microseconds ask_again) noexcept {
    const auto allowed = mode == failure_mode::allow || only_observes(p.compiled);
    auto d = decision{};
    d.outcome = allowed ? outcome::allowed : outcome::denied;
    d.source = allowed ? decision_source::fail_open : decision_source::fail_closed;
    if (allowed && core::traits_of(request.verb).is_granted)
        d.granted = request.verb == verb::once ? 1 : request.cost;
    if (!allowed)
        d.retry_after = ask_again;
    d.server_time = time_point{std::chrono::microseconds{time_of(request)}};
    report(p.compiled, allowed, d);
    return d;
}

} // namespace

fallback::fallback(const config& settings)
    : mode_(settings.on_failure), part_(settings.local_fraction),
      states_(settings.advanced.local_max_states),
      ask_again_(settings.advanced.reconnect_delay_max) {}

/// Processes that each wait for a whole limit would send a
/// multiple of it to what `wait` protects, so there `local` needs to be chosen.
failure_mode fallback::mode_for(const operation& op, const policy_data& p) const noexcept {
    const auto waits = op.kind == call_kind::wait || op.request.verb == verb::reserve;
    const auto applies =
        core::traits_of(op.request.verb).moves_quota && op.kind != call_kind::count;
    const auto mode = applies ? mode_of(p) : failure_mode::error;
    // No other store has the holders of slots.
    if (p.compiled.has_slots)
        return mode == failure_mode::deny && op.request.verb == verb::acquire ? mode
                                                                              : failure_mode::error;
    const auto is_chosen = p.options.has_failure_mode || part_.numerator != part_.denominator;
    return waits && mode == failure_mode::local && !is_chosen ? failure_mode::error : mode;
}

bool fallback::may_decide(error_code why) noexcept {
    return why && (why == condition::transient || why == condition::maybe_charged);
}

memory::store& fallback::store() {
    if (!store_)
        store_ = std::make_unique<memory::store>(states_);
    return *store_;
}

void fallback::keep(operation& op, const policy_pointer& policy) const {
    op.fallback.mode = mode_for(op, *policy);
    if (op.fallback.mode == failure_mode::error)
        return;
    op.fallback.policy = policy;
    if (op.fallback.mode == failure_mode::local && policy->compiled.has_distinct)
        op.fallback.member = policy->digest(op.request.member);
}

void fallback::keep_checks(operation& op, bool always) const {
    const auto observes = [](const check_item& c) {
        return only_observes(access::data(c.policy)->compiled);
    };
    // What denies nothing does not decide for the others either.
    const auto all_observe = std::ranges::all_of(op.checks, observes);
    op.fallback.mode = failure_mode::allow;
    for (const auto& c : op.checks)
        if (all_observe || !observes(c))
            op.fallback.mode = stricter(op.fallback.mode, mode_of(*access::data(c.policy)));
    if (op.fallback.mode != failure_mode::local && !always)
        return;
    auto kept = kept_checks::make(op.owner->pool(), op.checks.size());
    for (std::size_t i = 0; i < op.checks.size(); ++i) {
        const auto& c = op.checks[i];
        const auto& p = *access::data(c.policy);
        kept->all()[i] = {.key = p.digest(c.key),
                          .member = p.digest(c.options.member.value_or(""))};
    }
    op.attached = std::move(kept);
}

void fallback::answer(operation& op) noexcept {
    if (op.fallback.mode == failure_mode::error || !may_decide(op.ec))
        return;
    if (op.fallback.mode == failure_mode::local) {
        try {
            if (!op.checks.empty())
                answer_together(op);
            else if (!op.fallback.policy->filter)
                answer_single(op);
            else if (!answer_seen(op))
                return; // there is no room for another filter
        } catch (const std::bad_alloc&) {
            return; // the error stands
        }
    } else {
        decide_statically(op);
    }
    op.ec = {};
}

void fallback::decide_statically(operation& op) const noexcept {
    if (op.checks.empty()) {
        op.result = static_decision(op.fallback.mode, *op.fallback.policy, op.request, ask_again_);
        return;
    }
    for (auto& c : op.checks) {
        c.result = static_decision(op.fallback.mode, *access::data(c.policy),
                                   make_request(verb::allow, c.options), ask_again_);
        c.ec = {};
    }
    op.result = core::most_restrictive(op.checks, &check_item::result);
}

void fallback::answer_single(operation& op) {
    auto request = op.request;
    request.now = time_of(request);
    request.member = request.has_member ? bytes_of(op.fallback.member) : "";
    answer_alone(*op.fallback.policy, bytes_of(op.key_digest), request, op.result);
}

void fallback::answer_alone(const policy_data& whole, std::string_view key,
                            const call_request& request, decision& out) {
    const auto& p = is_scaled(whole) ? *access::data(scaled_of(whole)) : whole;
    auto answered = decision{};
    store().decide(key, p, request, answered);
    answered.source = decision_source::fallback;
    cap_to_full_limit(whole, request, answered);
    out = answered;
}

bool fallback::answer_seen(operation& op) {
    const auto seen = filters_.decide(op.request.verb, bytes_of(op.key_digest), *op.fallback.policy,
                                      time_of(op.request));
    if (!seen)
        return false;
    op.result = {};
    op.result.outcome = *seen ? outcome::denied : outcome::allowed;
    op.result.source = decision_source::fallback;
    return true;
}

void fallback::answer_together(operation& op) {
    const auto kept = static_cast<kept_checks&>(*op.attached).all();
    const auto now = time_of(op.request);
    std::vector<check_item> here;
    here.reserve(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const auto& c = op.checks[i];
        here.push_back({.key = bytes_of(kept[i].key),
                        .policy = is_scaled(*access::data(c.policy))
                                      ? scaled_of(*access::data(c.policy))
                                      : c.policy,
                        .options = c.options});
        if (c.options.member)
            here.back().options.member = bytes_of(kept[i].member);
    }
    (void)store().allow_all(here, now);
    for (std::size_t i = 0; i < here.size(); ++i) {
        auto& c = op.checks[i];
        c.ec = {};
        c.result = here[i].result;
        c.result.source = decision_source::fallback;
        cap_to_full_limit(*access::data(c.policy), make_request(verb::allow, c.options), c.result);
    }
    op.result = core::most_restrictive(op.checks, &check_item::result);
}

/// Changes `never` to `denied` if the cost exceeds the scaled limit but not the limit itself, as it
/// may be allowed when the server is available again.
void fallback::cap_to_full_limit(const policy_data& whole, const call_request& request,
                                 decision& d) const noexcept {
    if (d.outcome != outcome::never)
        return;
    const auto least = request.verb == verb::reserve ? request.cost : request.at_least;
    if (whole.compiled.never_allows(least))
        return;
    d.outcome = outcome::denied;
    d.retry_after = ask_again_;
    // NOLINTNEXTLINE(modernize-loop-convert): iterators over statuses are constant
    for (std::size_t i = 0; i < d.rules.size(); ++i)
        if (d.rules[i].retry_after == never_again)
            d.rules[i].retry_after = ask_again_;
}

/// `once` and `seen` have no rules.
bool fallback::is_scaled(const policy_data& p) const noexcept {
    return part_.numerator != part_.denominator && !p.rules.empty();
}

const policy& fallback::scaled_of(const policy_data& whole) {
    const auto found = scaled_.find(whole.identity);
    if (found != scaled_.end())
        return found->second;
    if (scaled_.size() >= limits::max_policies)
        scaled_.clear();
    return scaled_.emplace(whole.identity, scaled(whole, part_)).first->second;
}

void fallback::unreserve(const reservation& entry, std::int64_t cost,
                         const decision& reserved) noexcept {
    try {
        auto nobody = decision{};
        answer_alone(*entry.policy, bytes_of(entry.policy->digest(entry.key)),
                     {.verb = verb::unreserve,
                      .cost = cost,
                      .at_least = core::recovers_at(reserved),
                      .now = clock_of(reserved.server_time)},
                     nobody);
    } catch (const std::bad_alloc&) { // the reservation lapses
    }
}

} // namespace colimit::detail

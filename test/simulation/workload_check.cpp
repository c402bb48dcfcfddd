// SPDX-License-Identifier: BSL-1.0
//
// Checks what came of the calls, against what the servers executed.

#include "workload.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace colimit::simulation {

namespace asio = boost::asio;

namespace {

/// The time after its deadline, in microseconds, by which a call has completed.
constexpr std::int64_t slack = 100;

[[nodiscard]] std::string describe(const made_call& c, const made_check& k) {
    return "call of cost " + std::to_string(k.cost) + ", policy " + std::to_string(k.policy) +
           ", key " + std::to_string(k.key) + ", from " + std::to_string(c.started) + " to " +
           std::to_string(c.ended) + " us, " + (k.ec ? k.ec.message() : "decided") + ": ";
}

/// Returns whether a call may have had an effect on a server, as far as its result says. What was
/// decided instead of the server says nothing.
[[nodiscard]] bool may_have_effect(const made_call& c, const made_check& k) {
    if (!k.ec)
        return k.verb != core::verb::allow || k.result.granted > 0 ||
               k.result.source != decision_source::store;
    return k.ec == errc::outcome_unknown || k.ec == errc::closed ||
           (k.ec == asio::error::operation_aborted &&
            c.cancelled != asio::cancellation_type::total);
}

} // namespace

/// While the process stands still nothing completes.
std::int64_t workload::latest_end(const made_call& c) const {
    auto latest = c.started + timeouts_[c.limiter];
    for (const auto& [from, to] : stands_)
        if (from <= latest + slack && latest < to)
            latest = to;
    return latest + slack;
}

void workload::check() const {
    const auto in_doubt = costs_in_doubt();
    for (const auto& c : calls_)
        check_end(c, in_doubt);
    if (!has_identity_)
        check_totals();
    if (!machine_.has_stepped())
        check_fallbacks();
}

/// What the process has decided itself, by its own clock. Calls may complete in another order than
/// they were decided in, and at one time the order is unknown: so refunds count as if all came
/// first, and charges not at all.
void workload::check_fallbacks() const {
    struct grant {
        std::int64_t time;
        std::int64_t tokens;
    };
    auto grants = std::map<std::array<std::size_t, 3>, std::vector<grant>>{};
    auto refunds = std::map<std::array<std::size_t, 3>, std::int64_t>{};
    for (const auto& c : calls_)
        for (const auto& k : c.checks) {
            if (k.ec || k.result.source != decision_source::fallback)
                continue;
            const auto state = std::array{c.limiter, k.policy, k.key};
            if (k.verb == core::verb::allow)
                grants[state].push_back(
                    {k.result.server_time.time_since_epoch().count(), k.result.granted});
            if (k.verb == core::verb::refund)
                refunds[state] += k.cost;
        }
    for (auto& [state, all] : grants) {
        std::ranges::sort(all, {}, &grant::time);
        auto b = balance{records_.limit_of(state[1])};
        b.add_capacity(refunds[state]);
        for (const auto& g : all)
            if (!b.grant(g.tokens, g.time))
                throw violation{"limiter " + std::to_string(state[0]) +
                                " itself over-admitted: policy " + std::to_string(state[1]) +
                                ", key " + std::to_string(state[2])};
    }
}

workload::costs workload::costs_in_doubt() const {
    auto found = costs{};
    for (const auto& c : calls_)
        for (const auto& k : c.checks)
            if (may_have_effect(c, k))
                found.insert(k.cost);
    return found;
}

void workload::check_end(const made_call& c, const costs& in_doubt) const {
    const auto& first = c.checks.front();
    if (c.endings != 1)
        throw violation{describe(c, first) + "it did not complete"};
    if (c.ended > latest_end(c))
        throw violation{describe(c, first) + "it completed after its deadline"};
    for (const auto& k : c.checks) {
        if (c.is_final && (k.ec || (k.result.source != decision_source::store &&
                                    k.result.source != decision_source::deny_cache)))
            throw violation{describe(c, k) + "the server works again, and did not decide it"};
        if (!has_identity_ || k.verb == core::verb::reset)
            continue;
        k.ec ? check_failure(c, k, in_doubt) : check_decision(c, k);
    }
}

void workload::check_decision(const made_call& c, const made_check& k) const {
    const auto executions = records_.of(k.cost);
    if (k.result.source == decision_source::deny_cache && !executions.empty())
        throw violation{describe(c, k) + "it was executed, although its denial was cached"};
    if (k.result.source != decision_source::store)
        return;
    if (executions.empty())
        throw violation{describe(c, k) + "it was not executed"};
    const auto time = k.result.server_time.time_since_epoch().count();
    const auto is_it = [&](const execution& e) {
        return e.granted == k.result.granted && e.clock == time;
    };
    // A call with an id may have been executed by a server whose state was lost, and then again.
    if (k.verb != core::verb::peek &&
        std::ranges::none_of(k.id.empty() ? executions.last(1) : executions, is_it))
        throw violation{describe(c, k) + "the decision is not that of the server"};
}

/// A call that was certainly not charged, however often it was made, had no effect.
void workload::check_failure(const made_call& c, const made_check& k, const costs& in_doubt) const {
    if (!in_doubt.contains(k.cost) &&
        std::ranges::any_of(records_.of(k.cost), &execution::has_effect))
        throw violation{describe(c, k) + "it was charged"};
}

/// Calls without an identity: what the servers executed is what callers were told, and at most
/// those that they do not know about.
void workload::check_totals() const {
    const auto keys = names_.keys().size();
    for (std::size_t i = 0; i < names_.states().size(); ++i) {
        auto known = std::int64_t{0};
        auto unknown = std::int64_t{0};
        for (const auto& c : calls_)
            for (const auto& k : c.checks) {
                if (k.policy * keys + k.key != i)
                    continue;
                const auto is_decided = !k.ec && k.result.source == decision_source::store;
                known += is_decided ? k.result.granted : 0;
                unknown += is_decided ? 0 : 1;
            }
        const auto granted = records_.of(i / keys, i % keys).granted;
        if (granted < known || granted > known + unknown)
            throw violation{"state " + std::to_string(i) + ": the servers granted " +
                            std::to_string(granted) + ", and callers know of " +
                            std::to_string(known) + " and perhaps " + std::to_string(unknown)};
    }
}

} // namespace colimit::simulation

// SPDX-License-Identifier: BSL-1.0
//
// The parts of an `allow_all` are observed one by one, each with its own decision.

#include <colimit/limits.hpp>
#include <core/verb_traits.hpp>
#include <limiter/call_counter.hpp>
#include <limiter/call_observer.hpp>
#include <limiter/limiter_core.hpp>

#include <algorithm>
#include <utility>

namespace colimit::detail {
namespace {

/// Returns the name of the limiter's function; empty for calls that are not observed.
[[nodiscard]] std::string_view name_of(const call& c) noexcept {
    if (c.kind == call_kind::all)
        return "allow_all";
    if (c.kind == call_kind::count)
        return "count_distinct";
    if (c.kind == call_kind::once)
        return "once";
    if (c.kind != call_kind::one)
        return "";
    const auto is_filter = (*c.policy)->filter.has_value();
    switch (c.request.verb) {
    case verb::allow:
        return is_filter ? "seen" : "allow";
    case verb::peek:
        return is_filter ? "probably_seen" : "peek";
    case verb::charge:
        return "charge";
    case verb::refund:
        return "refund";
    case verb::reset:
        return "reset";
    case verb::block:
        return "block";
    case verb::reserve:
        return "wait";
    case verb::acquire:
        return "acquire";
    default:
        return "";
    }
}

/// Returns whether a rule would have denied the call that was granted: only a rule in shadow mode
/// is not waited for.
[[nodiscard]] bool is_shadow_denied(const decision& d) noexcept {
    return std::ranges::any_of(
        d.rules, [](const rule_status& status) { return status.retry_after.count() > 0; });
}

} // namespace

std::unique_ptr<call_observer> call_observer::make(const config& settings) {
    if (settings.counted_policies == 0 && !settings.on_decision)
        return nullptr;
    return std::make_unique<call_observer>(settings);
}

call_observer::call_observer(const config& settings)
    : counter_(settings.counted_policies), on_decision_(settings.on_decision),
      allowed_{.every = settings.advanced.audit_sampling.allowed},
      denied_{.every = settings.advanced.audit_sampling.denied},
      failed_{.every = settings.advanced.audit_sampling.failed} {}

std::size_t call_observer::room_for(std::string_view key) const noexcept {
    return on_decision_ ? std::min(key.size(), limits::plain_key_bytes) : 0;
}

void call_observer::keep(observed_call::part& to, char*& room, const policy_pointer& policy,
                         std::string_view key, std::int64_t cost) const noexcept {
    const auto length = room_for(key);
    key.copy(room, length);
    to.policy = policy;
    to.key = {room, length};
    to.key_size = key.size();
    to.cost = cost;
    room += length;
}

void call_observer::begin(operation& op, const call& c) const {
    const auto name = name_of(c);
    if (name.empty() || c.checks.size() > limits::max_checks)
        return;
    const auto is_whole = c.kind != call_kind::all;
    auto room = is_whole ? room_for(c.key) : 0;
    for (const auto& check : c.checks)
        room += room_for(check.key);
    auto made = observed_call::make(op.owner->pool(), name, is_whole ? 1 : c.checks.size(), room);
    auto* keys = made->key_bytes();
    if (is_whole) {
        const auto& policy = c.kind == call_kind::once ? once_policy() : *c.policy;
        const auto cost = core::traits_of(c.request.verb).has_duration ? 0 : c.request.cost;
        keep(made->parts().front(), keys, policy, c.key, cost);
    }
    for (std::size_t i = 0; i < c.checks.size(); ++i) {
        const auto& check = c.checks[i];
        keep(made->parts()[i], keys, access::data(check.policy), check.key, check.options.cost);
    }
    op.observed = std::move(made);
}

call_observer::sample& call_observer::sample_of(const error_code& ec, const decision& d) noexcept {
    return ec ? failed_ : d.allowed() ? allowed_ : denied_;
}

void call_observer::count(const observed_call::part& part, bool is_granted, const error_code& ec,
                          const decision& d, const std::chrono::microseconds* took) noexcept {
    auto& counts = counter_.of(*part.policy);
    add_call(counts, ec, d);
    if (took)
        counts.latency.add(*took);
    if (is_granted && is_shadow_denied(d))
        ++counts.shadow_denied;
}

void call_observer::end(operation& op, const std::chrono::microseconds* took) noexcept {
    auto& call = static_cast<observed_call&>(*op.observed);
    const auto is_granted =
        !op.ec && op.result.allowed() && core::traits_of(op.request.verb).is_granted;
    const auto parts = call.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& result = op.kind == call_kind::all && !op.ec ? op.checks[i].result : op.result;
        if (counter_.is_on())
            count(parts[i], is_granted, op.ec, result, took);
        if (on_decision_)
            parts[i].weight = sample_of(op.ec, result).next();
    }
}

void call_observer::report(operation& op) const {
    auto& call = static_cast<observed_call&>(*op.observed);
    const auto parts = call.parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (const auto& part = parts[i]; part.weight != 0)
            on_decision_(
                {.key = part.key,
                 .key_size = part.key_size,
                 .policy = part.policy->name,
                 .verb = call.verb(),
                 .cost = part.cost,
                 .ec = op.ec,
                 .result = op.kind == call_kind::all && !op.ec ? op.checks[i].result : op.result,
                 .weight = part.weight});
}

} // namespace colimit::detail

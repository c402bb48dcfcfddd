// SPDX-License-Identifier: BSL-1.0
//
// Evaluates calls on one key.

#include <colimit/limits.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <server_module/policy_states.hpp>

#include <algorithm>

namespace colimit::server_module {
namespace {

using detail::verb;

/// A bucket's state is extended by each use, so its key gets almost twice the TTL that it needs:
/// most writes then need not set the TTL again.
constexpr double spare = 1.9;

[[nodiscard]] bool is_kept_longer(const core::compiled_rule& l) noexcept {
    return l.kind == core::kind::bucket && l.initial < 0;
}

[[nodiscard]] bool is_full(const core::compiled_rule& l, const core::rule_state& s) noexcept {
    return core::visit(l.kind, [&]<class K>(K) { return K::is_full(l, s); });
}

} // namespace

state_lifetime lifetime_of(const core::compiled_policy& rules, const core::key_state& state,
                           std::int64_t now) noexcept {
    auto all = state_lifetime{state.block.debt, static_cast<double>(state.block.debt)};
    for (std::uint32_t i = 0; i < rules.state_count; ++i) {
        const auto& l = rules.limits[i];
        if (core::is_elsewhere(l) || is_full(l, state.states[i]))
            continue;
        const auto matters = core::lifetime(l, state.states[i], now);
        const auto kept = static_cast<double>(matters);
        all.matters = std::max(all.matters, matters);
        all.kept = std::max(all.kept, is_kept_longer(l) ? spare * kept : kept);
    }
    return all;
}

void policy_states::load(std::optional<std::string_view> value) noexcept {
    state_ = core::decode_value(rules_, value);
    change_.any = change_.is_erased = false;
    change_.gives_back = true;
    finds_stale_ = false;
}

void policy_states::note(core::effect effect, const detail::call_request& request) {
    if (effect == core::effect::nothing)
        return;
    const auto& traits = core::traits_of(request.verb);
    change_.any = true;
    change_.is_erased = effect == core::effect::erase;
    change_.gives_back = change_.gives_back && traits.gives_back;
    if (change_.is_erased)
        return;
    change_.value.assign(core::encoded_value{rules_, state_, 0});
    change_.lifetime = lifetime_of(rules_, state_, request.now);
}

bool policy_states::make_one(const detail::call_request& request) {
    const auto effect = core::evaluate(rules_, state_, request, result_);
    finds_stale_ = finds_stale_ || state_.stale;
    note(effect, request);
    return core::traits_of(request.verb).is_granted && result_.allowed();
}

void policy_states::move_to_now(std::int64_t now) {
    // A reservation that is not there: it returns nothing.
    (void)make_one({.verb = verb::unreserve, .cost = 0, .at_least = -1, .now = now});
    change_.gives_back = false;
}

bool are_made_at_once(const core::compiled_policy& rules, const detail::call_request& request,
                      std::uint32_t times) noexcept {
    return request.verb == verb::allow && request.at_least == request.cost && request.cost > 0 &&
           request.cost <= limits::max_exact_integer / times && !rules.has_log &&
           !rules.has_distinct;
}

/// Returns whether a grant may leave less room than it takes, as it makes debt of another version
/// of the policy count. The next one does not.
bool policy_states::has_surplus() const noexcept {
    for (std::uint32_t i = 0; i < rules_.size; ++i)
        if (state_.states[i].capacity < 0 && state_.states[i].debt < rules_.limits[i].debt_limit)
            return true;
    return false;
}

/// Calls are granted in order, and once one does not fit, the next one does not either: so the
/// number that fits is a quotient.
std::int64_t policy_states::allow_times(const detail::call_request& request, std::uint32_t times) {
    auto asked = request;
    asked.verb = verb::peek;
    asked.cost = request.cost * std::int64_t{times};
    (void)make_one(asked);
    if (has_surplus())
        return !make_one(request) ? 0 : times == 1 ? 1 : 1 + allow_times(request, times - 1);
    auto served =
        result_.allowed() ? std::min(std::int64_t{times}, result_.granted / request.cost) : 0;
    if (rules_.state_count > rules_.size && !rules_.shadow)
        served = std::min<std::int64_t>(served, 1);
    auto call = request;
    if (served != 0)
        call.cost = call.at_least = served * request.cost;
    (void)make_one(call); // a denial may have to replace the value
    return served;
}

std::int64_t policy_states::make(const detail::call_request& request, std::uint32_t times) {
    if (times > 1 && are_made_at_once(rules_, request, times))
        return allow_times(request, times);
    auto granted = std::int64_t{0};
    for (; times != 0; --times)
        granted += make_one(request) ? 1 : 0;
    return granted;
}

} // namespace colimit::server_module

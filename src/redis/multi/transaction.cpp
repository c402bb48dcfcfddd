// SPDX-License-Identifier: BSL-1.0
//
// Decides a call by all of its rules.

#include <core/call_fault.hpp>
#include <core/rule_kind.hpp>
#include <core/verb_traits.hpp>
#include <redis/multi/log_commands.hpp>
#include <redis/multi/transaction.hpp>

#include <algorithm>
#include <chrono>

namespace colimit::redis {
namespace {

using core::verb;
using detail::error_of;
using detail::fault;

/// Events this much later than a period from now were recorded before the server's clock was set
/// back; no estimate of that clock is so uncertain.
constexpr std::int64_t uncertainty = 60'000'000;

/// Calls `f` with the index of each fixed window.
template<class F>
void for_each_window(const core::compiled_policy& rules, F f) {
    for (std::size_t i = 0; i < rules.size; ++i)
        if (is_fixed_window(rules.limits[i]))
            f(i);
}

/// Returns the error of a policy's rule, or none.
[[nodiscard]] error_code error_of_rule(const detail::policy_data& policy, std::size_t i) {
    const auto& l = policy.compiled.limits[i];
    if (l.kind == core::kind::lockout)
        return error_of(fault::multi_cooldown);
    if (!core::is_log(l) && !is_fixed_window(l))
        return error_of(fault::multi_rule, {i, l.kind, policy.rules[i].kind()});
    if (is_fixed_window(l) && l.period % 1'000 != 0)
        return error_of(fault::multi_period, {i, l.kind});
    return {};
}

/// Returns the error of a call under a policy with a fixed window, or none.
[[nodiscard]] error_code error_of_window_call(const core::call_request& request) {
    if (request.verb == verb::refund)
        return error_of(fault::multi_refund);
    return request.now == detail::store_clock ? error_code{} : error_of(fault::multi_time);
}

[[nodiscard]] error_code error_of_log_call(const core::compiled_policy& rules,
                                           const core::call_request& request) {
    if (tokens_of(rules, request) > limits::max_log_events)
        return error_of(fault::multi_cost);
    if (rules.counts_denied && request.verb == verb::allow && request.at_least != request.cost)
        return error_of(fault::multi_partial);
    return {};
}

/// Adds the events of a granted call, about the newest one: they expire after the latest possible
/// time.
void add_own_events(const transaction_call& c, std::int64_t newest, decision& answer) noexcept {
    for (std::size_t i = 0; i < answer.rules.size(); ++i)
        if (const auto& l = c.rules().limits[i]; core::is_log(l))
            answer.rules[i].reset_after =
                std::chrono::microseconds{std::max(newest, c.latest) + l.period - c.earliest};
    answer.reset_after = answer.rules[answer.limiting_rule].reset_after;
}

[[nodiscard]] cleanup decide(const transaction_call& c, const log_results& logs, cleanup found,
                             decision& answer) noexcept {
    auto request = c.request;
    request.now = c.earliest;
    const auto own = request.verb == verb::allow ? c.tokens : 0;
    if (own != 0)
        request.cost = own;
    auto state = core::key_state{};
    for (std::size_t i = 0; i < c.rules().size; ++i)
        state.states[i] = core::is_log(c.rules().limits[i]) ? log_state(c, logs, i)
                                                            : window_state(c, found.windows[i], i);
    core::evaluate_current(c.rules(), state, request, answer);
    const auto granted = answer.allowed() ? std::min(answer.granted, own) : 0;
    const auto recorded = !answer.allowed() && c.rules().counts_denied ? own : granted;
    if (recorded != 0)
        add_own_events(c, logs.newest, answer);
    found.surplus_events = c.rules().has_log ? own - recorded : 0;
    found.newest = logs.newest;
    found.surplus_tokens = own - granted;
    return found;
}

} // namespace

error_code error_of_transaction(const detail::policy_data& policy,
                                const core::call_request& request) {
    const auto& rules = policy.compiled;
    if (request.has_id)
        return error_of(fault::multi_request);
    if (request.verb > verb::reset && request.verb != verb::reserve) // whose rules are refused
        return error_of(fault::multi_verb);
    if (rules.size == 0) // a Bloom filter
        return error_of(fault::multi_no_rules);
    if (rules.packed)
        return error_of(fault::multi_packed);
    for (std::size_t i = 0; i < rules.state_count; ++i)
        if (const auto wrong = error_of_rule(policy, i))
            return wrong;
    if (std::ranges::any_of(rules.rules(), is_fixed_window))
        if (const auto wrong = error_of_window_call(request))
            return wrong;
    return rules.has_log ? error_of_log_call(rules, request) : error_code{};
}

std::int64_t tokens_of(const core::compiled_policy& rules,
                       const core::call_request& request) noexcept {
    if (request.verb == verb::charge)
        return request.cost;
    if (request.verb != verb::allow)
        return 0;
    auto most = request.cost;
    for (const auto& l : rules.rules())
        if (!l.shadow)
            most = std::min(most, l.capacity);
    return request.at_least > most ? 0 : most;
}

std::size_t append_transaction(std::string& out, const transaction_call& c) {
    auto commands = append_log_commands(out, c);
    for_each_window(c.rules(),
                    [&](std::size_t i) { commands += append_window_commands(out, c, i); });
    return commands;
}

std::optional<cleanup> read_transaction(const transaction_call& c, const resp::decoder& reply,
                                        std::string_view bytes, decision& answer) {
    auto commands = count_log_commands(c);
    for_each_window(c.rules(), [&](std::size_t i) { commands += count_window_commands(c, i); });
    if (reply.first().kind != resp::kind::array || reply.first().size != commands)
        return std::nullopt;
    auto from = exec_reply{reply, bytes};
    auto logs = log_results{};
    auto found = cleanup{};
    auto is_valid = read_log_replies(c, from, logs);
    for_each_window(c.rules(), [&](std::size_t i) {
        is_valid = is_valid && read_window_replies(c, i, from, found.windows[i]);
    });
    if (!is_valid)
        return std::nullopt;
    if (!from.error())
        return decide(c, logs, found, answer);
    found.failure = from.error()->code;
    found.surplus_events = logs.recorded ? c.tokens : 0;
    found.surplus_tokens = c.tokens;
    if (logs.expires && !logs.recorded)
        found.foreign_key_ttl = logs.ttl;
    return found;
}

std::size_t append_log_cleanup(std::string& out, const transaction_call& c, const cleanup& after,
                               std::int64_t now) {
    auto replies = std::size_t{0};
    if (after.surplus_events != 0) {
        append_removal(out, c, after.surplus_events);
        ++replies;
    }
    if (after.foreign_key_ttl) {
        append_ttl(out, c, *after.foreign_key_ttl);
        ++replies;
    }
    const auto last = now + core::log_period(c.rules()) + uncertainty;
    if (after.newest > last && !core::traits_of(c.request.verb).only_asks) {
        append_cut(out, c, last);
        ++replies;
    }
    return replies;
}

std::size_t append_window_cleanup(std::string& out, const transaction_call& c, const cleanup& after,
                                  std::int64_t latest) {
    auto replies = std::size_t{0};
    for_each_window(c.rules(), [&](std::size_t i) {
        const auto& w = after.windows[i];
        if (w.added && w.is_ttl_wrong)
            replies += append_right_ttl(out, c, w, i, latest);
        if (w.added && after.surplus_tokens != 0)
            replies += append_give_back(out, c, w, i, after.surplus_tokens);
    });
    return replies;
}

} // namespace colimit::redis

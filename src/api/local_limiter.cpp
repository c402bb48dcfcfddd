// SPDX-License-Identifier: BSL-1.0
//
// The in-process store with plain functions: checks arguments and reads the clock.

#include <base/clocks.hpp>
#include <colimit/local_limiter.hpp>
#include <core/call_fault.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>
#include <policy/filter_state.hpp>
#include <policy/policy_data.hpp>
#include <policy/request_check.hpp>

#include <string>

namespace colimit {
namespace {

constexpr std::size_t most_states = std::size_t{1} << 30;

[[nodiscard]] std::size_t checked(std::size_t states) {
    if (states < 1 || states > most_states)
        throw error{errc::invalid_config, "states: out of range (got " + std::to_string(states) +
                                              ", expected 1 to " + std::to_string(most_states) +
                                              ")"};
    return states;
}

[[nodiscard]] std::chrono::milliseconds checked(std::chrono::milliseconds request_ttl) {
    if (request_ttl < limits::min_request_ttl || request_ttl > limits::max_request_ttl)
        throw error{errc::invalid_config,
                    "request_ttl: out of range (got " + std::to_string(request_ttl.count()) +
                        " ms, expected " + std::to_string(limits::min_request_ttl.count()) +
                        " ms to " + std::to_string(limits::max_request_ttl.count()) + " ms)"};
    return request_ttl;
}

} // namespace

local_limiter::local_limiter(std::size_t states, std::chrono::milliseconds request_ttl)
    : store_(std::make_unique<memory::store>(checked(states), checked(request_ttl))),
      filters_(std::make_unique<memory::bloom_filters>()) {}

local_limiter::~local_limiter() = default;
local_limiter::local_limiter(local_limiter&&) noexcept = default;
local_limiter& local_limiter::operator=(local_limiter&&) noexcept = default;

decision local_limiter::answer(std::string_view key, const detail::policy_data& data,
                               const detail::call_request& request) {
    detail::check_request(request, data.compiled);
    detail::check_key(key);
    const auto lookup = store_->seek(data.digest(key));
    auto timed = request;
    timed.now = detail::time_of(request);
    decision out; // not decision{}: GCC would clear all of it first
    if (!request.has_id)
        store_->decide(lookup, data, timed, out);
    else if (const auto wrong = store_->decide_once(lookup.id, data, timed, out);
             wrong != detail::fault::none)
        throw error{detail::code_of(wrong), detail::text_of(wrong)};
    ++decided_[static_cast<std::size_t>(out.outcome)];
    return out;
}

decision local_limiter::answer(std::string_view key, const policy& p,
                               const detail::call_request& request) {
    return answer(key, *detail::access::data(p), request);
}

decision local_limiter::answer_once(std::string_view id, const detail::call_request& request) {
    return answer(id, *detail::once_policy(), request);
}

bool local_limiter::look_up(std::string_view id, const bloom_filter& f,
                            const detail::call_request& request) {
    const auto& data = *detail::access::data(f);
    detail::check_request(request, data.compiled);
    detail::check_key(id);
    const auto seen = filters_->decide(request.verb, id, data, detail::time_of(request));
    if (!seen)
        throw error{errc::invalid_argument, detail::text_of(detail::fault::filter_count)};
    ++decided_[static_cast<std::size_t>(*seen ? outcome::denied : outcome::allowed)];
    return *seen;
}

void local_limiter::look_up(std::span<seen_item> ids, const bloom_filter& f,
                            const detail::call_request& request) {
    for (const auto& one : ids)
        detail::check_key(one.id);
    for (auto& one : ids) {
        one.seen = look_up(one.id, f, request);
        one.ec = {};
    }
}

filter_status local_limiter::filter_status(const bloom_filter& f, const reset_options& options) {
    const auto& data = *detail::access::data(f);
    const auto request = detail::make_inspection(detail::clock_of(options.now));
    detail::check_request(request, data.compiled);
    return detail::status_of(*data.filter, filters_->inspect(data, detail::time_of(request)));
}

std::int64_t local_limiter::count_distinct(std::string_view key, const policy& p,
                                           const count_options& options) {
    const auto& data = *detail::access::data(p);
    const auto request = detail::make_count(data, options);
    if (request.rule == detail::no_rule)
        throw error{errc::invalid_argument, detail::error_of_count(data.compiled).message()};
    const auto d = answer(key, data, request);
    const auto& status = d.rules[request.rule];
    return status.limit - status.balance;
}

decision local_limiter::charge_members(std::string_view key, const policy& p,
                                       std::span<const std::string_view> members,
                                       const charge_options& options) {
    const auto& data = *detail::access::data(p);
    auto request = detail::make_request(detail::verb::charge, options);
    request.has_member = true;
    if (request.has_id)
        throw error{errc::invalid_argument, detail::text_of(detail::fault::request_members)};
    for (const auto member : members) {
        request.member = member;
        detail::check_request(request, data.compiled);
    }
    if (members.empty())
        return peek(key, p, {.cost = 0, .now = options.now});
    decision last;
    for (const auto member : members) {
        request.member = member;
        last = answer(key, data, request);
    }
    return last;
}

local_statistics local_limiter::statistics() const noexcept {
    auto all = store_->statistics();
    all.allowed = decided_[static_cast<std::size_t>(outcome::allowed)];
    all.denied = decided_[static_cast<std::size_t>(outcome::denied)];
    all.never = decided_[static_cast<std::size_t>(outcome::never)];
    return all;
}

} // namespace colimit

// SPDX-License-Identifier: BSL-1.0
//
// The in-process store with plain functions: checks arguments and reads the clock.

#include <base/clocks.hpp>
#include <colimit/local_limiter.hpp>
#include <memory/bloom_filters.hpp>
#include <memory/store.hpp>
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

} // namespace

local_limiter::local_limiter(std::size_t states)
    : store_(std::make_unique<memory::store>(checked(states))),
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
    if (timed.now == detail::store_clock)
        timed.now = detail::system_now();
    decision out; // not decision{}: GCC would clear all of it first
    store_->decide(lookup, data, timed, out);
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

bool local_limiter::seen(std::string_view id, const bloom_filter& f, const reset_options& options) {
    const auto request =
        detail::make_request(detail::verb::allow, check_options{.now = options.now});
    detail::check_request(request, detail::access::data(f)->compiled);
    detail::check_key(id);
    const auto now = request.now == detail::store_clock ? detail::system_now() : request.now;
    const auto seen = filters_->seen(id, *detail::access::data(f), now);
    if (!seen)
        throw error{errc::invalid_argument, "too many Bloom filters in this store (at most " +
                                                std::to_string(limits::max_local_filters) + ")"};
    ++decided_[static_cast<std::size_t>(*seen ? outcome::denied : outcome::allowed)];
    return *seen;
}

local_statistics local_limiter::statistics() const noexcept {
    auto all = store_->statistics();
    all.allowed = decided_[static_cast<std::size_t>(outcome::allowed)];
    all.denied = decided_[static_cast<std::size_t>(outcome::denied)];
    all.never = decided_[static_cast<std::size_t>(outcome::never)];
    return all;
}

} // namespace colimit

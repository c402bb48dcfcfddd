// SPDX-License-Identifier: BSL-1.0
//
// The in-process store behind plain functions: arguments are checked and the clock is read here.

#include <colimit/local_limiter.hpp>
#include <memory/store.hpp>
#include <policy_data.hpp>
#include <system_clock.hpp>

#include <string>

namespace colimit {
namespace {

constexpr std::size_t most_states = std::size_t{1} << 30;

[[nodiscard]] std::size_t checked(std::size_t states) {
    if (states < 1 || states > most_states)
        throw error{errc::invalid_config, "the number of states must be 1 to " +
                                              std::to_string(most_states) + ", is " +
                                              std::to_string(states)};
    return states;
}

[[nodiscard]] std::string range(std::int64_t most, std::int64_t is) {
    return " must be 0 to " + std::to_string(most) + ", is " + std::to_string(is);
}

[[nodiscard]] std::string what_is_wrong_with(const detail::question& q) {
    if (q.cost < 0 || q.cost > limits::exact_integer)
        return "the cost" + range(limits::exact_integer, q.cost);
    if (q.at_least < 0 || q.at_least > q.cost)
        return "at_least" + range(q.cost, q.at_least);
    return "the time must lie between 1970 and 2112";
}

[[noreturn]] void refuse_key(std::size_t bytes) {
    throw error{errc::invalid_key, "the key has " + std::to_string(bytes) + " bytes; at most " +
                                       std::to_string(limits::key_bytes) + " are allowed"};
}

} // namespace

local_limiter::local_limiter(std::size_t states)
    : store_(std::make_unique<memory::store>(checked(states))) {}

local_limiter::~local_limiter() = default;
local_limiter::local_limiter(local_limiter&&) noexcept = default;
local_limiter& local_limiter::operator=(local_limiter&&) noexcept = default;

decision local_limiter::answer(std::string_view key, const policy& p,
                               const detail::question& asked) {
    if (!detail::is_valid(asked))
        throw error{errc::invalid_argument, what_is_wrong_with(asked)};
    if (key.size() > limits::key_bytes)
        refuse_key(key.size());
    const auto& data = *p.data();
    const auto sought = store_->seek(key, data);
    auto question = asked;
    if (question.now == detail::store_clock)
        question.now = detail::system_now();
    auto out = decision{};
    store_->answer(sought, data, question, out);
    return out;
}

local_statistics local_limiter::statistics() const noexcept {
    return store_->statistics();
}

} // namespace colimit

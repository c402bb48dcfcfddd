// SPDX-License-Identifier: BSL-1.0
//
// The stores that cases are put to.

#include "store.hpp"

#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <core/log_counts.hpp>
#include <policy/policy_data.hpp>
#include <support/redis_server.hpp>

#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <map>
#include <stdexcept>
#include <utility>

namespace colimit::conformance {
namespace {

using detail::call_request;
using detail::verb;

[[nodiscard]] time_point time_of(const call_request& q) {
    return time_point{std::chrono::microseconds{q.now}};
}

/// Calls the member of a limiter that a verb names, with its options and what comes after them.
template<class Limiter, class... Token>
auto call(Limiter& l, std::string_view key, const policy& p, const call_request& q,
          Token... token) {
    const auto checked = check_options{.cost = q.cost, .at_least = q.at_least, .now = time_of(q)};
    const auto charged = charge_options{.cost = q.cost, .now = time_of(q)};
    switch (q.verb) {
    case verb::allow:
        return l.allow(key, p, checked, token...);
    case verb::peek:
        return l.peek(key, p, checked, token...);
    case verb::charge:
        return l.charge(key, p, charged, token...);
    case verb::refund:
        return l.refund(key, p, charged, token...);
    case verb::reset:
        return l.reset(key, p, reset_options{.now = time_of(q)}, token...);
    default:
        throw std::logic_error{"a verb that cases do not have"};
    }
}

/// core::evaluate over a map that keeps no more than a store would, and logs beside it.
class core_store final : public store {
  public:
    [[nodiscard]] std::optional<std::string> cannot(const policy& rules) const override {
        if (detail::access::data(rules)->compiled.has_distinct)
            return "sketches are part of the stores, not of the arithmetic";
        return std::nullopt;
    }

    [[nodiscard]] decision ask(std::string_view key, const policy& rules,
                               const call_request& request) override {
        const auto& plan = detail::access::data(rules)->compiled;
        auto& stored = keys_[std::string{key}];
        auto state = stored.state;
        auto answer = decision{};
        if (plan.has_log) {
            (void)core::apply_before(stored.log, plan, request);
            core::report_counts(stored.log, plan, request, state.states);
        }
        const auto next = core::evaluate(plan, state, request, answer);
        if (plan.has_log)
            (void)core::apply_after(stored.log, plan, request, answer);
        if (next == core::effect::store)
            stored.state = state;
        else if (next == core::effect::erase)
            stored.state = {};
        return answer;
    }

  private:
    struct one_key {
        core::key_state state;
        core::event_log log;
    };

    std::map<std::string, one_key> keys_;
};

/// Each key has a limiter to itself: one limiter goes by one clock, and each suite has its own.
class memory_store final : public store {
  public:
    [[nodiscard]] decision ask(std::string_view key, const policy& rules,
                               const call_request& request) override {
        const auto found = limiters_.try_emplace(std::string{key}, 64).first;
        return call(found->second, key, rules, request);
    }

  private:
    std::map<std::string, local_limiter> limiters_;
};

class redis_store final : public store {
  public:
    explicit redis_store(const std::string& address)
        : own_(address.empty() ? std::make_unique<test::redis_server>() : nullptr), context_(1),
          limiter_(context_.get_executor(), settings(own_ ? own_->address() : address)) {}

    [[nodiscard]] decision ask(std::string_view key, const policy& rules,
                               const call_request& request) override {
        auto got = std::optional<std::pair<error_code, decision>>{};
        call(limiter_, key, rules, request,
             [&got](error_code ec, const decision& d) { got.emplace(ec, d); });
        while (!got) {
            context_.restart();
            if (context_.run_one() == 0)
                throw std::runtime_error{"the call never completed"};
        }
        if (got->first)
            throw std::runtime_error{"the call failed: " + got->first.message()};
        return got->second;
    }

  private:
    [[nodiscard]] static config settings(const std::string& address) {
        auto c = config{};
        c.server = address;
        c.prefix = "conformance-" + std::to_string(::getpid());
        c.timeout = std::chrono::seconds{10};
        c.on_failure = failure_mode::error;
        // The clock of a case may pass years while the server's passes a millisecond, or none.
        c.advanced.min_key_ttl = std::chrono::hours{1};
        return c;
    }

    std::unique_ptr<test::redis_server> own_;
    boost::asio::io_context context_;
    limiter limiter_;
};

} // namespace

std::unique_ptr<store> open_store(const std::string& name, const std::string& address) {
    if (name == "core")
        return std::make_unique<core_store>();
    if (name == "memory")
        return std::make_unique<memory_store>();
    return std::make_unique<redis_store>(address);
}

} // namespace colimit::conformance

// SPDX-License-Identifier: BSL-1.0
//
// The in-process store behind the verbs.

#include <base/system_clock.hpp>
#include <limiter/memory_engine.hpp>
#include <memory/together.hpp>

#include <utility>

namespace colimit::detail {

memory_engine::memory_engine(asio::any_io_executor executor, const config& settings)
    : engine(std::move(executor), settings), store_(settings.memory_keys) {}

void memory_engine::begin(operation& op, const call& c) {
    const auto& policy = **c.policy;
    if (policy.filter)
        return begin_seen(op, c);
    const auto sought =
        store_.seek((*c.policy)->digest(c.key)); // reads ahead while the clock is read
    if (op.asked.now == store_clock)
        op.asked.now = system_now();
    store_.answer(sought, policy, op.asked, op.result);
    complete(op, {});
}

void memory_engine::begin_seen(operation& op, const call& c) {
    if (op.asked.now == store_clock)
        op.asked.now = system_now();
    const auto seen = filters_.seen(c.key, **c.policy, op.asked.now);
    if (!seen)
        return complete(op, errc::invalid_argument);
    op.result.outcome = *seen ? outcome::limited : outcome::allowed;
    complete(op, {});
}

void memory_engine::begin_together(operation& op) {
    if (op.asked.now == store_clock)
        op.asked.now = system_now();
    op.result = memory::answer_together(store_, op.checks, op.asked.now);
    complete(op, {});
}

void memory_engine::begin_ready(operation& op) {
    complete(op, {});
}

// The store holds no calls: each is decided when it starts.
void memory_engine::withdraw(operation& /*op*/, error_code /*why*/) {}

void memory_engine::shut(error_code /*why*/) {}

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// Reads the clock, as the store has none.

#include <base/clocks.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/memory_backend.hpp>

namespace colimit::detail {

void memory_backend::start(operation& op, const call& c) {
    if (op.kind == call_kind::ready)
        return core_.complete(op);
    if (op.kind == call_kind::all)
        return start_all(op);
    const auto& policy = **c.policy;
    if (policy.filter)
        return start_seen(op, c);
    const auto sought = store_.seek(policy.digest(c.key)); // reads ahead while the clock is read
    if (op.request.now == store_clock)
        op.request.now = system_now();
    store_.decide(sought, policy, op.request, op.result);
    core_.complete(op);
}

void memory_backend::start_all(operation& op) {
    if (op.request.now == store_clock)
        op.request.now = system_now();
    op.result = store_.allow_all(op.checks, op.request.now);
    core_.complete(op);
}

void memory_backend::start_seen(operation& op, const call& c) {
    if (op.request.now == store_clock)
        op.request.now = system_now();
    const auto seen = filters_.seen(c.key, **c.policy, op.request.now);
    if (!seen)
        return core_.complete(op, errc::invalid_argument);
    op.result.outcome = *seen ? outcome::denied : outcome::allowed;
    core_.complete(op);
}

} // namespace colimit::detail

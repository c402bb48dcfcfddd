// SPDX-License-Identifier: BSL-1.0
//
// Reservations are released by separate calls without a caller.

#include <core/evaluate.hpp>
#include <limiter/limiter_core.hpp>
#include <limiter/wait_stage.hpp>

#include <boost/asio/error.hpp>

#include <memory>
#include <mutex>
#include <new>

namespace colimit::detail {
namespace {

[[nodiscard]] bool is_from_fallback(const operation& op) noexcept {
    return op.result.source == decision_source::fallback;
}

} // namespace

wait_stage::wait_stage(limiter_core& core, std::size_t max_waiting)
    : core_(core), max_waiting_(max_waiting), key_queues_(core),
      store_queue_(core.own_executor(), core.lock(), [this] { serve(); }),
      fallback_queue_(core.own_executor(), core.lock(), [this] { serve(); }) {}

bool wait_stage::begin(operation& op, const call& c) {
    if (count_ >= max_waiting_)
        return false;
    if ((*c.policy)->compiled.can_reserve) {
        op.attached =
            std::make_unique<reservation>(c.key, *c.policy, op.request.now != store_clock);
    } else {
        auto made = std::make_unique<waiter>(op, c);
        if (op.attached != nullptr)
            made->slot = std::move(static_cast<acquisition&>(*op.attached).slot);
        op.attached = std::move(made);
        op.kind = call_kind::wait;
    }
    ++count_;
    return true;
}

wait_queue& wait_stage::queue_of(const operation& op) noexcept {
    return is_from_fallback(op) ? fallback_queue_ : store_queue_;
}

bool wait_stage::try_enqueue_reservation(operation& op) {
    auto& entry = wait_queue::entry_of(op);
    auto& queue = queue_of(op);
    if (!op.result.allowed() || entry.served || !queue.prepare_wait(op))
        return false;
    entry.is_from_fallback = is_from_fallback(op);
    if (entry.cancelled) {
        release(entry, op.request.cost, op.result);
        op.ec = asio::error::operation_aborted;
        return false;
    }
    if (core_.is_closed()) {
        op.ec = errc::closed;
        return false;
    }
    queue.add(op, wait_queue::clock::now(), core_.shared_from_this());
    return true;
}

bool wait_stage::cancel(operation& op) noexcept {
    if (!waits(op))
        return false;
    if (op.kind == call_kind::wait)
        return key_queues_.cancel(op);
    auto& entry = wait_queue::entry_of(op);
    if (!entry.is_queued) {
        entry.cancelled = true;
        return false;
    }
    queue_of(op).remove(op);
    entry.served = true;
    release(entry, op.request.cost, op.result);
    return true;
}

operation_list wait_stage::take_all() noexcept {
    auto all = store_queue_.take_all();
    auto others = fallback_queue_.take_all();
    while (auto* op = others.pop_front())
        all.push_back(*op);
    auto in_queues = key_queues_.take_all();
    while (auto* op = in_queues.pop_front())
        all.push_back(*op);
    return all;
}

void wait_stage::serve() {
    const std::lock_guard guard{core_.lock()};
    for (auto* queue : {&store_queue_, &fallback_queue_}) {
        auto due = queue->take_due(wait_queue::clock::now(), core_.shared_from_this());
        core_.complete_all(due);
    }
}

void wait_stage::release(const reservation& entry, std::int64_t cost,
                         const decision& reserved) noexcept {
    if (entry.is_from_fallback)
        return core_.release_in_fallback(entry, cost, reserved);
    try {
        auto* op = new reservation_call{core_, entry, [](operation* base, bool /*invoke*/) {
                                            delete static_cast<reservation_call*>(base);
                                        }};
        const auto& kept = op->entry;
        core_.start_locked(*op,
                           {.kind = call_kind::release,
                            .key = kept.key,
                            .policy = &kept.policy,
                            .request = {.verb = verb::unreserve,
                                        .cost = cost,
                                        .at_least = core::recovers_at(reserved),
                                        .now = entry.has_own_time ? clock_of(reserved.server_time)
                                                                  : store_clock}});
    } catch (const std::bad_alloc&) { // the reservation lapses
    }
}

} // namespace colimit::detail

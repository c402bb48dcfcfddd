// SPDX-License-Identifier: BSL-1.0
//
// The stage of `wait`. Under continuous buckets the store makes a reservation; until its time of
// admission the call stays in a queue, and if it is cancelled there, the reservation is released.
// Under other rules the call waits in a queue of its key, whose first call asks until it is
// granted.

#pragma once

#include <async/operation_list.hpp>
#include <colimit/detail/call_operation.hpp>
#include <limiter/backend.hpp>
#include <limiter/key_queues.hpp>
#include <limiter/reservation.hpp>
#include <limiter/wait_queue.hpp>

#include <cstddef>
#include <cstdint>

namespace colimit::detail {

class limiter_core;

class wait_stage {
  public:
    /// @param max_waiting incomplete calls
    wait_stage(limiter_core& core, std::size_t max_waiting);

    /// Called before the store is. Returns false if too many calls are incomplete.
    [[nodiscard]] bool begin(operation& op, const call& c);
    /// Adds a call that cannot reserve to its queue, which asks the store.
    [[nodiscard]] stage_result join(operation& op) { return key_queues_.join(op); }
    /// Called when the call is complete.
    void end(const operation& op) noexcept {
        if (waits(op))
            --count_;
    }

    /// Adds a call that the store has decided to its queue, if it has to wait from now on. If it
    /// was cancelled or the limiter is closed, sets `ec` and returns false.
    [[nodiscard]] bool try_enqueue(operation& op) {
        if (!waits(op))
            return false;
        return op.kind == call_kind::wait ? key_queues_.try_enqueue(op)
                                          : !op.ec && try_enqueue_reservation(op);
    }
    /// Returns whether a call that the store does not hold may be charged all the same.
    [[nodiscard]] static bool may_be_charged(const operation& op) noexcept {
        return op.kind != call_kind::wait || op.attached == nullptr ||
               key_queues::waiter_of(op).is_asking;
    }
    /// Removes a cancelled call from its queue, or lets `try_enqueue` end it. Returns whether the
    /// call is to be completed now.
    [[nodiscard]] bool cancel(operation& op) noexcept;
    [[nodiscard]] key_queues& queues() noexcept { return key_queues_; }
    /// Empties the queues.
    [[nodiscard]] operation_list take_all() noexcept;

    /// Releases a reservation in the store that made it, and ignores the result.
    void release(const reservation& entry, std::int64_t cost, const decision& reserved) noexcept;

  private:
    [[nodiscard]] static bool waits(const operation& op) noexcept {
        return (op.request.verb == verb::reserve || op.kind == call_kind::wait) &&
               op.attached != nullptr;
    }
    [[nodiscard]] bool try_enqueue_reservation(operation& op);
    [[nodiscard]] wait_queue& queue_of(const operation& op) noexcept;
    void serve();

    limiter_core& core_;
    std::size_t count_ = 0; ///< calls that are not complete
    std::size_t max_waiting_;
    key_queues key_queues_;
    wait_queue store_queue_;
    wait_queue fallback_queue_; ///< ordered with the clock of the failure mode's store
};

} // namespace colimit::detail

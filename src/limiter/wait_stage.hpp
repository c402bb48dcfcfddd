// SPDX-License-Identifier: BSL-1.0
//
// The stage of `wait`: the store makes a reservation; until its time of admission the call stays in
// a queue, and if it is cancelled there, the reservation is released.

#pragma once

#include <async/operation_list.hpp>
#include <colimit/detail/call_operation.hpp>
#include <limiter/reservation.hpp>
#include <limiter/wait_queue.hpp>

#include <cstddef>
#include <cstdint>

namespace colimit::detail {

class limiter_core;

class wait_stage {
  public:
    /// @param most incomplete calls
    wait_stage(limiter_core& core, std::size_t most);

    /// Called before the store is. Returns false if too many calls are incomplete.
    [[nodiscard]] bool begin(operation& op, const call& c);
    /// Called when the call is complete.
    void end(const operation& op) noexcept {
        if (op.request.verb == verb::reserve && op.attached != nullptr)
            --count_;
    }

    /// Returns whether a call that the store has decided has to wait from now on. If it was
    /// cancelled or the limiter is closed, sets `ec` and returns false.
    [[nodiscard]] bool keeps(operation& op) {
        return op.request.verb == verb::reserve && !op.ec && op.attached != nullptr &&
               keeps_reservation(op);
    }
    /// Removes a cancelled call from its queue, or lets `keeps` end it. Returns whether the call is
    /// to be completed now.
    [[nodiscard]] bool cancel(operation& op) noexcept;
    /// Empties the queues.
    [[nodiscard]] operation_list take_all() noexcept;

    /// Releases a reservation in the store that made it, and ignores the result.
    void release(const reservation& entry, std::int64_t cost, std::int64_t end) noexcept;

  private:
    [[nodiscard]] bool keeps_reservation(operation& op);
    [[nodiscard]] wait_queue& queue_of(const operation& op) noexcept;
    void serve();

    limiter_core& core_;
    std::size_t count_ = 0; ///< calls that are not complete
    std::size_t most_;
    wait_queue store_queue_;
    wait_queue fallback_queue_; ///< ordered with the clock of the failure mode's store
};

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// The interface of a queue to calls whose requests are sent together.

#ifndef COLIMIT_REDIS_QUEUE_CALL_BATCH_HPP
#define COLIMIT_REDIS_QUEUE_CALL_BATCH_HPP

#include <colimit/detail/operation.hpp>

#include <cstdint>

namespace colimit::redis {

class call_batch {
  public:
    call_batch() = default;
    call_batch(const call_batch&) = delete;
    call_batch& operator=(const call_batch&) = delete;

    /// Replaces the operation of call `index`, which gets its result.
    virtual void substitute(std::uint32_t index, detail::operation& by) noexcept = 0;
    /// Removes the caller of call `index`. A call that was not encoded yet is never sent.
    virtual void drop(std::uint32_t index) noexcept = 0;
    /// Returns whether all callers have been removed and nothing has to be sent.
    [[nodiscard]] virtual bool is_abandoned() const noexcept = 0;

    bool encoded = false; ///< no more calls are taken, and it may have been sent

  protected:
    ~call_batch() = default;

    /// Stores the call as call `index`.
    void hold(detail::operation& op, std::uint32_t index) noexcept {
        op.is_held = true;
        op.batch = this;
        op.index = index;
    }
};

} // namespace colimit::redis

#endif

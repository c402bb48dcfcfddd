// SPDX-License-Identifier: BSL-1.0
//
// Calls whose requests leave together, as a queue sees them.

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

    /// The answer to call `index` is for another operation.
    virtual void substitute(std::uint32_t index, detail::operation& by) noexcept = 0;
    /// Forgets the caller of call `index`. A call that was not encoded yet is not made at all.
    virtual void drop(std::uint32_t index) noexcept = 0;
    /// Whether every caller has gone and nothing has to be sent.
    [[nodiscard]] virtual bool is_abandoned() const noexcept = 0;

    bool encoded = false; ///< no more calls are taken, and it may be on its way

  protected:
    ~call_batch() = default;

    /// Takes the call as its call `index`.
    void hold(detail::operation& op, std::uint32_t index) noexcept {
        op.is_held = true;
        op.batch = this;
        op.index = index;
    }
};

} // namespace colimit::redis

#endif

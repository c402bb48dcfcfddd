// SPDX-License-Identifier: BSL-1.0
//
// A timer that cannot fail. Setting an Asio timer may need memory; if that cannot be allocated,
// this one reads the clock in every event-loop iteration instead, so that no deadline is missed.

#pragma once

#include <async/handler_memory.hpp>
#include <base/thread_lock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

namespace colimit::detail {

class deadline_timer {
  public:
    /// @param lock held by callers of the functions below, but not when it rings
    deadline_timer(const boost::asio::any_io_executor& executor, thread_lock& lock,
                   std::function<void()> on_time);

    /// Rings at `at`, in microseconds of the steady clock, or at an earlier time that was set
    /// before, and then not again. `owner` stays alive until it rings or is cleared.
    void set(std::int64_t at, const std::shared_ptr<void>& owner) noexcept;
    void clear() noexcept;
    /// Returns whether it is already set to ring at `at` or earlier.
    [[nodiscard]] bool rings_by(std::int64_t at) const noexcept { return is_waiting_ && at_ <= at; }

  private:
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    void wait(const std::shared_ptr<void>& owner) noexcept;
    void wait_for_a_turn(const std::shared_ptr<void>& owner) noexcept;
    void wake(const std::shared_ptr<void>& owner);

    boost::asio::steady_timer timer_;
    thread_lock& lock_;
    std::function<void()> on_time_;
    handler_memory memory_; ///< of the handler that waits
    std::int64_t at_ = never;
    bool is_waiting_ = false;
};

} // namespace colimit::detail

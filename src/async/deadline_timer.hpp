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
    /// @param lock held by callers of the functions below, but not by `on_time`
    deadline_timer(const boost::asio::any_io_executor& executor, thread_lock& lock,
                   std::function<void()> on_time);

    /// Expires at `at`, in microseconds of the steady clock, or at an earlier time that was set
    /// before: calls `on_time`, once. `owner` stays alive until it expires or is cleared.
    void set(std::int64_t at, const std::shared_ptr<void>& owner) noexcept;
    void clear() noexcept;
    /// Returns whether it is already set to expire at `at` or earlier.
    [[nodiscard]] bool expires_by(std::int64_t at) const noexcept {
        return is_waiting_ && at_ <= at;
    }

  private:
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    void wait(const std::shared_ptr<void>& owner) noexcept;
    void wait_an_iteration(const std::shared_ptr<void>& owner) noexcept;
    void wake(const std::shared_ptr<void>& owner);

    boost::asio::steady_timer timer_;
    thread_lock& lock_;
    std::function<void()> on_time_;
    handler_memory memory_; ///< of the handler that waits
    std::int64_t at_ = never;
    bool is_waiting_ = false;
};

} // namespace colimit::detail

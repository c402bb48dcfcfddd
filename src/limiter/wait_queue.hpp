// SPDX-License-Identifier: BSL-1.0
//
// Calls of `wait` with a reservation that are not admitted yet. They are ordered by the clock of
// this process, because the store's clock, which determines the time of admission, may step. The
// calls of one key keep the order of their reservations, although their replies travelled for
// different times: a call is due no earlier than its predecessor.

#pragma once

#include <async/deadline_timer.hpp>
#include <async/operation_list.hpp>
#include <limiter/reservation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/set.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace colimit::detail {

/// Changes a decision to what it is after this time, if nothing else happens to the key.
void pass_time(decision& d, std::chrono::microseconds by) noexcept;

class wait_queue {
  public:
    using clock = std::chrono::steady_clock;

    /// @param on_due called when a call may be due; take_due returns those that are
    wait_queue(const boost::asio::any_io_executor& executor, thread_lock& lock,
               std::function<void()> on_due)
        : timer_(executor, lock, std::move(on_due)) {}

    /// Sets the times of a call with a reservation, and returns whether it has to wait: its time of
    /// admission is in the future, or an earlier reservation of the same key with an earlier time
    /// still waits.
    [[nodiscard]] bool prepare_wait(operation& op) noexcept;
    /// Adds a call that has to wait, as `prepare_wait` has said.
    /// @param now when its decision was read
    /// @param owner stays alive while a call waits
    void add(operation& op, clock::time_point now, const std::shared_ptr<void>& owner) noexcept;
    /// Removes a call from the queue.
    void remove(operation& op) noexcept;
    /// Returns the calls that are due, in order, with their decisions as of their admission.
    [[nodiscard]] operation_list take_due(clock::time_point now,
                                          const std::shared_ptr<void>& owner) noexcept;
    /// Returns all calls, in any order.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static reservation& entry_of(operation& op) noexcept {
        return static_cast<reservation&>(*op.attached);
    }

  private:
    struct earlier_due {
        [[nodiscard]] bool operator()(const reservation& a, const reservation& b) const noexcept;
    };
    struct by_key {
        [[nodiscard]] bool operator()(const reservation& a, const reservation& b) const noexcept;
    };
    [[nodiscard]] const reservation* predecessor_of(const reservation& entry) const noexcept;
    void erase(reservation& entry) noexcept;
    void set_timer(const std::shared_ptr<void>& owner) noexcept;

    deadline_timer timer_;
    boost::intrusive::set<reservation, boost::intrusive::compare<earlier_due>,
                          boost::intrusive::base_hook<due_hook>>
        by_due_;
    boost::intrusive::set<reservation, boost::intrusive::compare<by_key>,
                          boost::intrusive::base_hook<key_hook>>
        keys_;
    std::uint64_t taken_ = 0;
};

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// Calls of `wait` whose places are reserved and whose turns have not come. The clock of this
// process orders them: the store's clock, by which turns are given, may step. The callers of one
// key keep the order in which they reserved, although their replies travelled for different times:
// a call is due no earlier than its predecessor.

#ifndef COLIMIT_LIMITER_WAIT_QUEUE_HPP
#define COLIMIT_LIMITER_WAIT_QUEUE_HPP

#include <async/alarm.hpp>
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

class wait_queue {
  public:
    using clock = std::chrono::steady_clock;

    /// @param on_due called when a turn may have come: take_due returns whose
    wait_queue(const boost::asio::any_io_executor& executor, thread_lock& lock,
               std::function<void()> on_due)
        : alarm_(executor, lock, std::move(on_due)) {}

    /// Returns whether a call that was granted a place has to wait: its turn is in the future, or a
    /// call that reserved the same key earlier still waits for an earlier turn.
    [[nodiscard]] bool has_to_wait(operation& op) const noexcept;
    /// Takes a call that has to wait.
    /// @param now when its decision was read
    /// @param owner stays alive while a call waits
    void add(operation& op, clock::time_point now, const std::shared_ptr<void>& owner) noexcept;
    /// The call waits no longer.
    void remove(operation& op) noexcept;
    /// Returns the calls whose turns have come, in order, with their decisions as of their turns.
    [[nodiscard]] operation_list take_due(clock::time_point now,
                                          const std::shared_ptr<void>& owner) noexcept;
    /// Returns all calls, in an order that does not matter.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static reservation& place_of(operation& op) noexcept {
        return static_cast<reservation&>(*op.attached);
    }

  private:
    struct by_turn {
        [[nodiscard]] bool operator()(const reservation& a, const reservation& b) const noexcept;
    };
    struct by_key {
        [[nodiscard]] bool operator()(const reservation& a, const reservation& b) const noexcept;
    };
    [[nodiscard]] const reservation* predecessor_of(const reservation& place) const noexcept;
    void erase(reservation& place) noexcept;
    void set_alarm(const std::shared_ptr<void>& owner) noexcept;

    alarm alarm_;
    boost::intrusive::set<reservation, boost::intrusive::compare<by_turn>,
                          boost::intrusive::base_hook<turn_hook>>
        line_;
    boost::intrusive::set<reservation, boost::intrusive::compare<by_key>,
                          boost::intrusive::base_hook<key_hook>>
        keys_;
    std::uint64_t taken_ = 0;
};

} // namespace colimit::detail

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Calls that have a place in the future and wait for it. They are served in the order of their
// turns by the store's clock: by this process's clock alone two of them, whose replies travelled
// for different times, could change places.

#ifndef COLIMIT_ENGINE_WAITING_LINE_HPP
#define COLIMIT_ENGINE_WAITING_LINE_HPP

#include <engine/alarm.hpp>
#include <engine/reservation.hpp>
#include <operation_list.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/intrusive/set.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace colimit::detail {

class waiting_line {
  public:
    /// @param on_due called when somebody's turn may have come: take_due tells whose
    waiting_line(const boost::asio::any_io_executor& executor, thread_lock& lock,
                 std::function<void()> on_due)
        : alarm_(executor, lock, std::move(on_due)) {}

    /// Takes a call that was granted a place; its `result.retry_after` says how far away.
    /// @param owner stays alive while somebody waits
    void add(operation& op, const std::shared_ptr<void>& owner) noexcept;
    /// The call waits no longer.
    void remove(operation& op) noexcept;
    /// Whose turn has come, in order, with their decisions as of their turns.
    [[nodiscard]] operation_list take_due(const std::shared_ptr<void>& owner) noexcept;
    /// Everybody, in no order that matters.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static reservation& place_of(operation& op) noexcept {
        return static_cast<reservation&>(*op.attached);
    }

  private:
    struct by_turn {
        [[nodiscard]] bool operator()(const reservation& a, const reservation& b) const noexcept;
    };

    void set_alarm(const std::shared_ptr<void>& owner) noexcept;

    alarm alarm_;
    boost::intrusive::set<reservation, boost::intrusive::compare<by_turn>> line_;
    std::uint64_t taken_ = 0;
};

} // namespace colimit::detail

#endif

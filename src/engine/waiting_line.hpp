// SPDX-License-Identifier: BSL-1.0
//
// Calls that have a place in the future and wait for it. They are served in the order of their
// turns by the store's clock: by this process's clock alone two of them, whose replies travelled
// for different times, could change places.

#ifndef COLIMIT_ENGINE_WAITING_LINE_HPP
#define COLIMIT_ENGINE_WAITING_LINE_HPP

#include <engine/reservation.hpp>
#include <operation_list.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

namespace colimit::detail {

class waiting_line {
  public:
    /// @param on_due called when somebody's turn may have come: take_due tells whose
    waiting_line(const boost::asio::any_io_executor& executor, std::function<void()> on_due)
        : timer_(executor), on_due_(std::move(on_due)) {}

    /// Takes a call that was granted a place; its `result.retry_after` says how far away.
    /// @param owner stays alive while somebody waits
    void add(operation& op, const std::shared_ptr<void>& owner);
    /// The call waits no longer.
    void remove(operation& op) noexcept;
    /// Whose turn has come, in order, with their decisions as of their turns.
    [[nodiscard]] operation_list take_due(const std::shared_ptr<void>& owner);
    /// Everybody, in no order that matters.
    [[nodiscard]] operation_list take_all() noexcept;

    [[nodiscard]] static reservation& place_of(operation& op) noexcept {
        return static_cast<reservation&>(*op.attached);
    }

  private:
    struct by_turn {
        [[nodiscard]] bool operator()(operation* a, operation* b) const noexcept;
    };

    void set_timer(const std::shared_ptr<void>& owner);

    boost::asio::steady_timer timer_;
    std::function<void()> on_due_;
    std::set<operation*, by_turn> line_;
    std::uint64_t taken_ = 0;
    std::int64_t timer_at_ = 0; ///< 0: not set
};

} // namespace colimit::detail

#endif

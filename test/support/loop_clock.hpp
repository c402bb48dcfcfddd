// SPDX-License-Identifier: BSL-1.0
//
// A clock for the deadlines that calls must keep. A process that is halted, or that waits for a
// processor, hears of everything late, also of its deadlines; a test that measures real time would
// blame the library for that.

#pragma once

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>

namespace colimit::test {

/// Its time is the number of timers of 1 ms that have ended one after another, with whatever is due
/// in the event loop between them. So it passes only while the loop runs, and never faster than
/// real time. It cannot tell whether the process was halted or a handler kept the loop from
/// running.
class loop_clock {
  public:
    /// @param context of the event loop; must outlive the clock
    explicit loop_clock(boost::asio::io_context& context);

    /// Returns the time since the clock was made.
    [[nodiscard]] std::chrono::milliseconds now() const noexcept;

  private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace colimit::test

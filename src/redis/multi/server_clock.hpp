// SPDX-License-Identifier: BSL-1.0
//
// Bounds of the server's clock: the earliest and the latest possible time. The server executes TIME
// between the sending of the command and the arrival of the reply:
//
//     here     ----- asked ----------- answered -----      at `answered` the server's clock is
//     server   -------------- time ------------------      time .. time + (answered - asked)
//
// Each reply narrows the interval; between replies it widens by the possible drift of the two
// clocks. All times are microseconds; the two clocks may differ by any time.
//
// Without a script a client cannot read the time and use it in one step. So a call is recorded at
// the latest possible time, and counts and removes from the earliest. Events are kept for one
// `config::timeout` longer than they count, and rules count with ZCOUNT and not ZCARD: a call that
// was delayed in flight is executed after calls that were sent later, which have removed, according
// to their own time, events that it must still count.

#pragma once

#include <algorithm>
#include <cstdint>

namespace colimit::redis {

class server_clock {
  public:
    /// Adds a reply to TIME. If it contradicts the interval (a clock was set), it replaces it.
    void observe(std::int64_t asked, std::int64_t answered, std::int64_t time) noexcept {
        const auto offset_min = time - answered - rounding;
        const auto offset_max = time - asked + rounding;
        if (known_) {
            const auto wider = drift_until(answered);
            offset_min_ = std::max(offset_min_ - wider, offset_min);
            offset_max_ = std::min(offset_max_ + wider, offset_max);
        }
        if (!known_ || offset_min_ > offset_max_) {
            offset_min_ = offset_min;
            offset_max_ = offset_max;
        }
        known_ = true;
        as_of_ = answered;
    }

    /// Resets the clock: another connection may lead to another server.
    void forget() noexcept { known_ = false; }

    /// Return bounds of the server's clock when this process's clock is `here`.
    [[nodiscard]] std::int64_t earliest(std::int64_t here) const noexcept {
        return here + offset_min_ - drift_until(here);
    }
    [[nodiscard]] std::int64_t latest(std::int64_t here) const noexcept {
        return here + offset_max_ + drift_until(here);
    }

  private:
    /// The drift in a million: each of the two clocks may be slewed by up to 500.
    static constexpr std::int64_t drift = 1'000;
    /// Both clocks are rounded down.
    static constexpr std::int64_t rounding = 1;

    [[nodiscard]] std::int64_t drift_until(std::int64_t here) const noexcept {
        const auto passed = std::max<std::int64_t>(here - as_of_, 0);
        return passed / drift + (passed != 0 ? 1 : 0);
    }

    // The server's clock minus this one, as of the last reply.
    std::int64_t offset_min_ = 0;
    std::int64_t offset_max_ = 0;
    std::int64_t as_of_ = 0;
    bool known_ = false;
};

} // namespace colimit::redis

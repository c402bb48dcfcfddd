// SPDX-License-Identifier: BSL-1.0
//
// What a server's clock can be, seen from here: between an earliest and a latest time. TIME is
// answered between the sending of the question and the coming of the answer:
//
//     here     ----- asked ----------- answered -----      at `answered` the server's clock is
//     server   -------------- time ------------------      time .. time + (answered - asked)
//
// Each answer narrows what was known; between answers it widens by as much as two clocks drift
// apart. All times are microseconds; the two clocks may lie any time apart.

#ifndef COLIMIT_REDIS_MULTI_SERVER_CLOCK_HPP
#define COLIMIT_REDIS_MULTI_SERVER_CLOCK_HPP

#include <algorithm>
#include <cstdint>

namespace colimit::redis {

class server_clock {
  public:
    /// An answer to TIME. One that what was known cannot explain (a clock was set) replaces it.
    void observe(std::int64_t asked, std::int64_t answered, std::int64_t time) noexcept {
        const auto least = time - answered - rounding;
        const auto most = time - asked + rounding;
        if (known_) {
            const auto wider = drift_until(answered);
            least_ = std::max(least_ - wider, least);
            most_ = std::min(most_ + wider, most);
        }
        if (!known_ || least_ > most_) {
            least_ = least;
            most_ = most;
        }
        known_ = true;
        as_of_ = answered;
    }

    /// Forgets everything: another connection may lead to another server.
    void forget() noexcept { known_ = false; }

    /// Of the server's clock, when this process's is `here`.
    [[nodiscard]] std::int64_t earliest(std::int64_t here) const noexcept {
        return here + least_ - drift_until(here);
    }
    [[nodiscard]] std::int64_t latest(std::int64_t here) const noexcept {
        return here + most_ + drift_until(here);
    }

  private:
    /// Clocks that are slewed to the right time run wrong by up to 500 in a million, both of them.
    static constexpr std::int64_t drift = 1'000;
    /// Both clocks are rounded down.
    static constexpr std::int64_t rounding = 1;

    [[nodiscard]] std::int64_t drift_until(std::int64_t here) const noexcept {
        const auto passed = std::max<std::int64_t>(here - as_of_, 0);
        return passed / drift + (passed != 0 ? 1 : 0);
    }

    // The server's clock minus this one, as of an answer.
    std::int64_t least_ = 0;
    std::int64_t most_ = 0;
    std::int64_t as_of_ = 0;
    bool known_ = false;
};

} // namespace colimit::redis

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Tests whether the time has changed since the last test, at a fifth of the cost of reading the
// clock: with the system's coarse clock, which changes with the timer interrupt. If that is too
// coarse for the required precision, or does not exist, the time has always changed.
//
// A deadline is counted from the present time and not from the start of the event-loop iteration,
// in which an earlier handler may have worked for longer than `timeout`. Reading the clock takes 22
// ns, a tenth of the client time of a call on a popular key; this takes 5. So the first call of an
// iteration reads the clock, and a later one only after a tick; if a tick is more than a twentieth
// of `timeout`, each call reads it. It is read again before bytes are written: a call that is past
// its deadline then is not sent and ends with `deadline_exceeded`, uncharged.

#pragma once

#include <cstdint>
#include <ctime>
#include <utility>

namespace colimit::detail {

class tick_watch {
  public:
    /// @param precision_us a time that is this many microseconds old is new enough
    explicit tick_watch([[maybe_unused]] std::int64_t precision_us) noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
        auto tick = std::timespec{};
        is_fine_ = ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 &&
                   in_ns(tick) <= 1'000 * precision_us;
#endif
    }

    /// Returns true if more than the precision may have passed since the last call.
    [[nodiscard]] bool poll() noexcept {
#ifdef CLOCK_MONOTONIC_COARSE
        auto now = std::timespec{};
        if (is_fine_ && ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)
            return std::exchange(last_, in_ns(now)) != in_ns(now);
#endif
        return true;
    }

  private:
    [[nodiscard]] static std::int64_t in_ns(const std::timespec& t) noexcept {
        return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
    }

    bool is_fine_ = false;
    std::int64_t last_ = 0;
};

} // namespace colimit::detail

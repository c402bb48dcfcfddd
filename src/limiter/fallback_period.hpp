// SPDX-License-Identifier: BSL-1.0
//
// The period in which the failure mode decides calls, for events: it begins with the first call
// that the failure mode decides, and ends when the server decides calls again and the failure mode
// has decided none for a second. Without this second, alternating failures and successes would be
// two events each.

#pragma once

#include <colimit/error.hpp>

#include <cstdint>
#include <limits>
#include <utility>

namespace colimit::detail {

class fallback_period {
  public:
    /// Microseconds without a decision of the failure mode after which the period may end.
    static constexpr std::int64_t quiet_time = 1'000'000;
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    /// Returns whether decisions that replace this error are part of the period. With too many
    /// calls in flight the server decides as many as it can.
    [[nodiscard]] static bool counts(error_code why) noexcept {
        return why != errc::too_many_in_flight;
    }

    /// Notes a decision of the failure mode. Returns true if it begins a period.
    [[nodiscard]] bool begin(std::int64_t now) noexcept {
        latest_ = now;
        is_server_back_ = false;
        return !std::exchange(is_open_, true);
    }

    /// Notes that the server has decided a call.
    void note_server() noexcept { is_server_back_ = true; }

    [[nodiscard]] std::int64_t ends_at() const noexcept {
        return is_open_ && is_server_back_ ? latest_ + quiet_time : never;
    }

    /// Returns true if the period ends now.
    [[nodiscard]] bool end(std::int64_t now) noexcept {
        if (now < ends_at())
            return false;
        is_open_ = false;
        return true;
    }

  private:
    std::int64_t latest_ = 0;
    bool is_open_ = false;
    bool is_server_back_ = false; ///< since the latest decision of the failure mode
};

} // namespace colimit::detail

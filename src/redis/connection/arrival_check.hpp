// SPDX-License-Identifier: BSL-1.0
//
// Determines whether everything that has arrived was read. A reply is not missing if this process
// was too busy to read it, so this check comes before a deadline ends a call or the connection.
//
// It checks once per event-loop iteration. Data that had been received at the previous check has
// completed an operation since, or can be read now, or its handler is queued and completes before
// the next check. So two checks in a row that find nothing prove that everything was read.
//
// Only then a call expires, and the expiry counts as a miss only if the oldest outstanding request
// has been in flight for at least half a `timeout`: a stall of the event loop is not an outage.

#pragma once

#include <redis/connection/stream.hpp>

#include <cstdint>

namespace colimit::redis {

class arrival_check {
  public:
    /// An iteration reads up to 64 KiB, so this covers every reply that a full limiter may have
    /// missed; and a server that sends endlessly cannot delay deadlines forever.
    static constexpr int max_checks = 256;

    explicit arrival_check(const stream& s) noexcept : stream_(s) {}

    [[nodiscard]] bool is_running() const noexcept { return is_running_; }
    void begin() noexcept {
        is_running_ = true;
        checks_ = quiet_checks_ = 0;
        seen_ = stream_.completions();
    }
    /// Called one iteration later. Returns whether another check is needed.
    [[nodiscard]] bool check() noexcept {
        const auto is_quiet = stream_.completions() == seen_ && !stream_.has_unread();
        quiet_checks_ = is_quiet ? quiet_checks_ + 1 : 0;
        seen_ = stream_.completions();
        return quiet_checks_ < 2 && ++checks_ < max_checks;
    }
    void end() noexcept { is_running_ = false; }

  private:
    const stream& stream_;
    bool is_running_ = false;
    int checks_ = 0;
    int quiet_checks_ = 0;   ///< since something was found
    std::uint64_t seen_ = 0; ///< completions of the stream, at the last check
};

} // namespace colimit::redis

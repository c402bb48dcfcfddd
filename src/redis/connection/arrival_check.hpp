// SPDX-License-Identifier: BSL-1.0
//
// Determines whether everything that has arrived was read. A reply is not missing if this process
// was too busy to read it, so this check comes before a deadline ends a call or the connection.
//
// It looks once per event-loop iteration. Data that had been received at the previous look has
// completed an operation since, or can be read now, or its handler is queued after this one and
// completes before the next look. So two looks in a row that find nothing prove that everything was
// read.

#ifndef COLIMIT_REDIS_CONNECTION_ARRIVAL_CHECK_HPP
#define COLIMIT_REDIS_CONNECTION_ARRIVAL_CHECK_HPP

#include <redis/connection/stream.hpp>

#include <cstdint>

namespace colimit::redis {

class arrival_check {
  public:
    /// A look reads up to 64 KiB, so this covers every reply that a full limiter may have missed;
    /// and a server that sends endlessly cannot delay deadlines forever.
    static constexpr int max_looks = 256;

    explicit arrival_check(const stream& s) noexcept : stream_(s) {}

    [[nodiscard]] bool is_running() const noexcept { return is_running_; }
    void begin() noexcept {
        is_running_ = true;
        looks_ = quiet_looks_ = 0;
        seen_ = stream_.completions();
    }
    /// Called one iteration later. Returns whether another look is needed.
    [[nodiscard]] bool look() noexcept {
        const auto is_quiet = stream_.completions() == seen_ && !stream_.has_unread();
        quiet_looks_ = is_quiet ? quiet_looks_ + 1 : 0;
        seen_ = stream_.completions();
        return quiet_looks_ < 2 && ++looks_ < max_looks;
    }
    void end() noexcept { is_running_ = false; }

  private:
    const stream& stream_;
    bool is_running_ = false;
    int looks_ = 0;
    int quiet_looks_ = 0;    ///< the number of looks since something was found
    std::uint64_t seen_ = 0; ///< completions of the stream, at the last look
};

} // namespace colimit::redis

#endif

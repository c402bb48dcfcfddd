// SPDX-License-Identifier: BSL-1.0
//
// Whether everything that has arrived was read. A reply is not missing because this process was too
// busy to read it, so this is asked before a deadline ends a call, or the connection.
//
// It looks once per event-loop iteration. What had been received at the last look has ended an
// operation since, or can be read now, or waits as a handler behind this one and ends an operation
// before the next look. So two looks that find nothing have seen everything.

#ifndef COLIMIT_REDIS_CONNECTION_ARRIVAL_CHECK_HPP
#define COLIMIT_REDIS_CONNECTION_ARRIVAL_CHECK_HPP

#include <redis/connection/stream.hpp>

#include <cstdint>

namespace colimit::redis {

class arrival_check {
  public:
    /// A look reads up to 64 KiB, so this covers every reply that a full limiter may have missed;
    /// and a server that sends without end cannot keep calls from their deadlines.
    static constexpr int max_looks = 256;

    explicit arrival_check(const stream& s) noexcept : stream_(s) {}

    [[nodiscard]] bool is_running() const noexcept { return is_running_; }
    void begin() noexcept {
        is_running_ = true;
        looks_ = quiet_looks_ = 0;
        seen_ = stream_.completions();
    }
    /// One iteration later. Returns whether another look is needed.
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
    int quiet_looks_ = 0;    ///< of these, the last ones that found nothing
    std::uint64_t seen_ = 0; ///< completions of the stream, at the last look
};

} // namespace colimit::redis

#endif

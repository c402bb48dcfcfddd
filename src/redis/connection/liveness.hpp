// SPDX-License-Identifier: BSL-1.0
//
// Determines whether a connection is alive: it is considered lost if the server owes replies and is
// silent for too long; an idle connection is checked with PING, as a middlebox may have dropped it
// silently. Pure: the times are arguments, in microseconds.
//
// A PING is sent only if no reply is outstanding: a server that owes replies is probed by them. So
// a probe never waits behind calls, its reply is the next one whatever it says, and a frozen
// connection gets no bytes that will never be read. A server that replies BUSY or LOADING is alive:
// its connection is kept, and the reply counts as a miss.
//
// A connection that has just replied gets five timeouts and at least two seconds. One that was idle
// for half a second, or is checked by an idle PING, is replaced after one timeout, at least
// `limits::ping_timeout`: a new connection costs two round trips, and calls on a dead one a timeout
// each. Calls are sent behind an idle PING without waiting for it. A busy connection sends none.

#pragma once

#include <cstdint>
#include <limits>

namespace colimit::redis {

struct liveness_settings {
    std::int64_t silence_limit; ///< while replies are owed
    std::int64_t doubt_limit;   ///< the limit for a connection that was idle before
    std::int64_t ping_interval; ///< idle time before a PING; 0: never
};

class liveness {
  public:
    static constexpr auto never = std::numeric_limits<std::int64_t>::max();
    /// The idle time after which a connection may be dead.
    static constexpr std::int64_t doubtful_idleness = 500'000;

    explicit liveness(const liveness_settings& settings) noexcept : settings_(settings) {}

    void connected() noexcept { may_ping_ = true; }
    void disconnected() noexcept { is_ping_owed_ = is_doubted_ = false; }
    /// Called when bytes have arrived, or a request was sent on a connection known to be alive.
    void on_data(std::int64_t now) noexcept {
        silent_since_ = now;
        is_doubted_ = false;
    }
    /// Called when the server begins to owe a reply.
    void await_reply(std::int64_t now) noexcept {
        is_doubted_ = now - silent_since_ >= doubtful_idleness;
        silent_since_ = now;
    }
    /// Called when PING is sent. Calls are sent behind it; no reply was outstanding before, so the
    /// next reply is its own.
    void begin_ping(std::int64_t now) noexcept {
        silent_since_ = now;
        is_doubted_ = is_ping_owed_ = true;
    }
    /// @param may_repeat false if the server refuses PING alone
    void end_ping(bool may_repeat) noexcept {
        is_ping_owed_ = false;
        may_ping_ = may_repeat;
    }

    [[nodiscard]] bool is_ping_owed() const noexcept { return is_ping_owed_; }
    /// While replies are owed: returns when the connection counts as lost.
    [[nodiscard]] std::int64_t silence_ends() const noexcept {
        return silent_since_ + (is_doubted_ ? settings_.doubt_limit : settings_.silence_limit);
    }
    /// While the connection is idle: returns when it is to be checked.
    [[nodiscard]] std::int64_t ping_due() const noexcept {
        return may_ping_ && settings_.ping_interval != 0 ? silent_since_ + settings_.ping_interval
                                                         : never;
    }

  private:
    liveness_settings settings_;
    std::int64_t silent_since_ = 0; ///< when bytes arrived, or the server began to owe a reply
    bool is_doubted_ = false;   ///< the connection was idle when the server began to owe a reply
    bool is_ping_owed_ = false; ///< the next reply is that to a PING of an idle connection
    bool may_ping_ = true;      ///< the server has not denied it on this connection
};

} // namespace colimit::redis

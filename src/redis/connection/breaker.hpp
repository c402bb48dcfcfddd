// SPDX-License-Identifier: BSL-1.0
//
// A circuit breaker, as a state machine without a clock: whether calls are sent to a server.
//
//            misses in a row                    probe                     good probes in a row
//   closed -----------------> open, a pause ----------> open, a probe -----------------> closed
//                                   ^  ^                     | |
//                                   |  '------- bad ---------' |
//                                   '--------- good -----------'  (the next one at once)
//
// While it is open, calls are not sent: their failure mode decides them immediately. A probe is a
// PING on the connection; without a connection, the session's attempts to connect and its handshake
// are the probes. It takes several misses to open and several good probes to close, so one slow
// moment does not open it and one lucky reply does not close it. The pauses grow and are jittered;
// they are reset only after a call was answered in time.
//
// A probe is late if its reply has not arrived by its deadline, not if it is read late: the event
// loop may have been busy. So the connection, which can check for received data, decides that.
//
// A late reply is not a success; it only makes the breaker probe at once. So a server that answers
// everything late does not get the calls of all clients again and again, and one that thaws is used
// again after two round trips. A call whose deadline is before the next attempt to connect fails
// when it starts; others wait for that attempt.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

namespace colimit::redis {

struct breaker_settings {
    int misses;                 ///< consecutive misses that open it
    int probes;                 ///< consecutive good probes that close it
    std::int64_t probe_timeout; ///< microseconds within which the reply to a good probe must arrive
    std::int64_t pause_least;
    std::int64_t pause_most;
    std::uint32_t seed = 1; ///< of the jitter
};

class breaker {
  public:
    explicit breaker(breaker_settings settings);

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    /// Returns how often it has opened.
    [[nodiscard]] std::uint64_t open_count() const noexcept { return open_count_; }
    /// Returns whether a probe is in flight.
    [[nodiscard]] bool is_probing() const noexcept { return probed_at_.has_value(); }
    /// Returns when the probe in flight will be late, unless it is already.
    [[nodiscard]] std::optional<std::int64_t> probe_late_at() const noexcept;
    /// Returns when the next probe is due, if it is open and no probe is in flight.
    [[nodiscard]] std::optional<std::int64_t> probe_at() const noexcept {
        return is_open_ && !is_probing() ? std::optional{due_} : std::nullopt;
    }

    /// Called when a call, or the connection, had no reply.
    void on_failure(std::int64_t now);
    /// Called when a call was answered in time.
    void on_success() noexcept {
        if (is_open_)
            return;
        misses_ = 0;
        pause_ = settings_.pause_least;
    }
    /// Notes a late reply: the server is probed at once.
    void on_late_reply(std::int64_t now) noexcept { due_ = std::min(due_, now); }

    void begin_probe(std::int64_t now) noexcept {
        probed_at_ = now;
        is_probe_late_ = false;
    }
    /// Called when no reply to the probe has arrived in time.
    void miss_probe() noexcept { is_probe_late_ = true; }
    /// Called when the server is replaced by another one: closes, as nothing is known about that.
    void forget() noexcept {
        is_open_ = false;
        misses_ = 0;
        pause_ = settings_.pause_least;
    }
    /// @param served whether the server executes commands
    void end_probe(bool served, std::int64_t now);
    /// Called when the connection is lost, and the probe with it.
    void lose_connection() noexcept { probed_at_.reset(); }
    /// Called when a handshake has succeeded, with several good replies. Closes, but the next miss
    /// opens again: a server may complete handshakes and then not execute calls.
    void on_handshake() noexcept {
        is_open_ = false;
        misses_ = std::min(misses_, settings_.misses - 1);
    }

  private:
    void pause(std::int64_t now);

    breaker_settings settings_;
    bool is_open_ = false;
    std::uint64_t open_count_ = 0;
    int misses_ = 0;
    int good_ = 0; ///< probes in a row, since it has opened
    std::optional<std::int64_t> probed_at_;
    bool is_probe_late_ = false;
    std::int64_t due_ = 0;
    std::int64_t pause_;
    std::minstd_rand random_;
};

} // namespace colimit::redis

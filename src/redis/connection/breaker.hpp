// SPDX-License-Identifier: BSL-1.0
//
// Whether a server is worth asking: a circuit breaker, as a state machine without a clock.
//
//            misses in a row                    probe                     good probes in a row
//   closed -----------------> open, a pause ----------> open, a probe -----------------> closed
//                                   ^  ^                     | |
//                                   |  '------- bad ---------' |
//                                   '--------- good -----------'  (the next one at once)
//
// While it is open, calls are not sent: their failure mode answers them at once. A probe is a PING
// on the connection; where there is none, the session's own attempts and greeting are the probes.
// It takes several misses to open and several good probes to close, so one slow moment does not
// open it and one lucky reply does not close it. The pauses grow and are jittered; they begin small
// again only after a call was answered in time.
//
// A probe is late if its reply has not arrived when its time is over, not if it is read late: the
// event loop may have had other work. So the shell, which can look for what has arrived, says so.

#ifndef COLIMIT_REDIS_CONNECTION_BREAKER_HPP
#define COLIMIT_REDIS_CONNECTION_BREAKER_HPP

#include <cstdint>
#include <optional>
#include <random>

namespace colimit::redis {

struct breaker_settings {
    int misses;            ///< in a row, that open it
    int probes;            ///< in a row, that close it
    std::int64_t patience; ///< microseconds in which a probe must be answered to be good
    std::int64_t pause_least;
    std::int64_t pause_most;
    std::uint32_t seed = 1; ///< of the jitter
};

class breaker {
  public:
    explicit breaker(breaker_settings settings);

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }
    /// How often it has opened.
    [[nodiscard]] std::uint64_t openings() const noexcept { return openings_; }
    /// A probe is under way.
    [[nodiscard]] bool is_probing() const noexcept { return probed_at_.has_value(); }
    /// When the probe that is under way is late, unless it is already.
    [[nodiscard]] std::optional<std::int64_t> probe_late_at() const noexcept;
    /// When the next probe is due, if it is open and none is under way.
    [[nodiscard]] std::optional<std::int64_t> probe_at() const noexcept;

    /// A call, or the connection, had no answer.
    void miss(std::int64_t now);
    /// A call was answered in time.
    void hit() noexcept;
    /// The server has said something, if too late: it is asked at once how it is.
    void heard(std::int64_t now) noexcept;

    void begin_probe(std::int64_t now) noexcept;
    /// Nothing has arrived in time.
    void miss_probe() noexcept { is_probe_late_ = true; }
    /// @param served whether the server does what it is asked
    void end_probe(bool served, std::int64_t now);
    /// The connection is gone, and the probe with it.
    void lose_connection() noexcept { probed_at_.reset(); }
    /// A connection has been greeted, which took several good replies. Closes, but the next miss
    /// opens again: a server may greet and then serve nothing.
    void greeted() noexcept;

  private:
    void pause(std::int64_t now);

    breaker_settings settings_;
    bool is_open_ = false;
    std::uint64_t openings_ = 0;
    int misses_ = 0;
    int good_ = 0; ///< probes in a row, since it has opened
    std::optional<std::int64_t> probed_at_;
    bool is_probe_late_ = false;
    std::int64_t due_ = 0;
    std::int64_t pause_;
    std::minstd_rand random_;
};

} // namespace colimit::redis

#endif

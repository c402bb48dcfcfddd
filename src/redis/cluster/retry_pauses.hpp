// SPDX-License-Identifier: BSL-1.0
//
// When batches that nodes of a cluster have rejected are sent again, and whether calls wait for
// that: a state machine without a clock, for each group of keys and each node that is in trouble.
//
//            rejected                      rejected, `misses` times in a row
//   well --------------> pausing, closed ------------------------------------> pausing, open
//    ^                      |                                                     |
//    '----- executed -------'--------------------- executed ----------------------'
//
// While it is closed, batches wait for the end of the pause, as a failover or the move of a slot
// may end by then. While it is open, as a circuit breaker, calls end at once; after each pause one
// of them is sent to find out. Pauses grow, and batches that are rejected during a pause belong to
// the same attempt. A rejection may be one that does not count: that of a slot that is being moved.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>

namespace colimit::redis {

/// Microseconds, except `misses` and `seed`.
struct retry_settings {
    int misses; ///< consecutive attempts after which calls do not wait any more
    std::int64_t pause_least;
    std::int64_t pause_most;
    std::uint32_t seed = 1; ///< of the jitter
};

class retry_pauses {
  public:
    /// A group of keys, or a node; the caller chooses the numbers.
    using subject = std::size_t;

    static constexpr auto never = std::numeric_limits<std::int64_t>::max();

    explicit retry_pauses(retry_settings settings) : settings_(settings), random_(settings.seed) {}

    /// Called when a batch was rejected.
    /// @param counts whether calls end at once if this continues
    void reject(subject of, std::int64_t now, bool counts);
    /// Called when a batch was executed.
    /// @param was_rejected that batch, before; another one does not show that a moving slot is
    /// served
    void serve(subject of, bool was_rejected) noexcept;
    /// Called when the subject does not exist any more.
    void drop(subject of) noexcept;
    /// Called when the subject may be served again: the pause ends, unless rejections count.
    void hurry(subject of, std::int64_t now) noexcept;
    /// The same for all. Forgets those of which nothing was rejected for a long time.
    void hurry_all(std::int64_t now) noexcept;

    /// Returns true if a call ends at once. If not, and it is open, this call is the attempt.
    [[nodiscard]] bool try_refuse(subject of, std::int64_t now);
    [[nodiscard]] bool is_open(subject of) const noexcept;
    /// Returns whether batches wait.
    [[nodiscard]] bool is_pausing(subject of, std::int64_t now) const noexcept;
    /// Returns when the next pause ends that has not ended; `never` if there is none.
    [[nodiscard]] std::int64_t next_end(std::int64_t now) const noexcept;

    [[nodiscard]] bool is_empty() const noexcept { return states_.empty(); }
    [[nodiscard]] bool is_any_open() const noexcept { return open_ != 0; }
    /// Returns how often one has opened.
    [[nodiscard]] std::uint64_t open_count() const noexcept { return open_count_; }

  private:
    struct state {
        std::int64_t pause = 0;
        std::int64_t ends_at = 0;
        std::int64_t rejected_at = 0;
        int misses = 0;
        bool is_open = false;
    };
    using states = std::map<subject, state>;

    void begin_pause(state& s, std::int64_t now);
    states::iterator forget(states::iterator which) noexcept;

    retry_settings settings_;
    states states_;
    std::size_t open_ = 0;
    std::uint64_t open_count_ = 0;
    std::minstd_rand random_;
};

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// A sliding log in process, the twin of the script's sorted set: what was charged and when, for as
// long as it may matter.
//
//     ring:  | t, sum | t, sum | t, sum | ...      times never decrease, sums grow
//
// With an event goes the weight of all events up to it, so what a window holds, and when enough of
// it will have gone, are found by bisection, and several windows share one log. An event at t
// counts in (now - period, now]: at t + period it is gone. One from after `now`, when the clock was
// set back, counts as if at `now`. The number of events has a bound, beyond which the oldest become
// one: no weight is forgotten before its time. Versions of a policy may have other periods: the log
// remembers the longest, and keeps its events for that long.
//
// The ring doubles as it grows. The first two events are in the object itself, which is one cache
// line; who has no memory for more lets the newest event take up what comes.

#ifndef COLIMIT_CORE_EVENT_LOG_HPP
#define COLIMIT_CORE_EVENT_LOG_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace colimit::core {

class event_log {
  public:
    /// What all events that count may weigh together.
    static constexpr std::int64_t most = (std::int64_t{1} << 32) - 1;

    event_log() = default;
    event_log(event_log&& other) noexcept;
    event_log& operator=(event_log&& other) noexcept;
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;
    ~event_log() = default;

    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
    /// Events that are remembered, also those that no longer count.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The time of the last event, even after now; 0 if there is none.
    [[nodiscard]] std::int64_t last() const noexcept { return size_ == 0 ? 0 : at(size_ - 1).t; }
    /// How long events are kept: `period`, or a longer one that has recorded since the log was
    /// empty, rounded up by at most 1/512.
    [[nodiscard]] std::int64_t kept_for(std::int64_t period) const noexcept;
    /// Memory in use, the object's own included.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of(room_); }

    /// The weight of what counts in the window.
    [[nodiscard]] std::int64_t used(std::int64_t now, std::int64_t period) const noexcept;
    /// The time of the last event, at most `now`; 0 if none counts in the window.
    [[nodiscard]] std::int64_t newest(std::int64_t now, std::int64_t period) const noexcept;
    /// 0 if `amount` fits below `limit`; else when enough of the oldest will have gone. An amount
    /// above the limit fits when, as far as is known, nothing is left of the window.
    [[nodiscard]] std::int64_t fits_at(std::int64_t now, std::int64_t limit, std::int64_t period,
                                       std::int64_t amount) const noexcept;

    /// Makes the events after `now` one event at `now`. Returns whether there were any.
    bool move_to(std::int64_t now) noexcept;

    /// What `bytes` will be when an event has been recorded.
    [[nodiscard]] std::size_t bytes_to_record(std::int64_t now, std::int64_t keep_period,
                                              std::int64_t capacity) const noexcept;

    /// Adds an event at `now`, cut so that no more than `most` counts, and forgets what is older
    /// than `keep_period`; a weight of which nothing is left changes nothing.
    /// @param capacity of more events the oldest become one, at the time of the last of them: what
    ///                 was charged counts for longer then, not less. Decisions depend on them only
    ///                 after a refund, if the capacity is above 4/3 of the limit plus 4
    /// @param may_grow if not, or if there is no memory, an event that finds no place is added to
    ///                 the one before it, which moves to `now`: so it counts for longer, not less
    /// True when something was recorded.
    bool record(std::int64_t now, std::int64_t weight, std::int64_t keep_period,
                std::int64_t capacity, bool may_grow = true) noexcept;

    /// Takes `weight` from the newest events, and forgets what is older than `keep_period`; a
    /// weight of 0 changes nothing. True when something changed.
    bool refund(std::int64_t now, std::int64_t weight, std::int64_t keep_period) noexcept;

    void clear() noexcept;

  private:
    struct event {
        std::int64_t t;
        std::uint64_t sum; ///< the weight of all events up to this one
    };
    static constexpr std::uint32_t inline_room = 2;

    /// A time in two bytes, rounded up by at most 1/512: ten bits, and how far they are shifted.
    [[nodiscard]] static std::uint16_t span_of(std::int64_t us) noexcept;

    [[nodiscard]] static std::size_t bytes_of(std::uint32_t room) noexcept;
    [[nodiscard]] const event& at(std::uint32_t i) const noexcept {
        return events()[(first_ + i) & (room_ - 1)];
    }
    [[nodiscard]] event& at(std::uint32_t i) noexcept {
        return events()[(first_ + i) & (room_ - 1)];
    }
    [[nodiscard]] const event* events() const noexcept {
        return ring_ ? ring_.get() : inline_.data();
    }
    [[nodiscard]] event* events() noexcept { return ring_ ? ring_.get() : inline_.data(); }
    [[nodiscard]] std::uint64_t sum_before(std::uint32_t i) const noexcept {
        return i == 0 ? forgotten_ : at(i - 1).sum;
    }
    [[nodiscard]] std::uint64_t last_sum() const noexcept { return sum_before(size_); }
    [[nodiscard]] std::uint32_t first_after(std::int64_t t) const noexcept;
    [[nodiscard]] std::uint32_t first_with(std::uint64_t sum) const noexcept;
    [[nodiscard]] std::uint32_t surplus(std::uint32_t old, std::int64_t capacity) const noexcept;
    [[nodiscard]] std::uint32_t room_for_one_more(std::uint32_t events) const noexcept;
    void drop_oldest(std::uint32_t count) noexcept;
    void merge_oldest(std::uint32_t count) noexcept;
    void resize(std::uint32_t room) noexcept;

    std::unique_ptr<event[]> ring_; // NOLINT: a vector would say its size a second time
    std::array<event, inline_room> inline_{};
    std::uint64_t forgotten_ = 0; ///< the sum before the first event
    std::uint32_t first_ = 0;
    std::uint32_t size_ = 0;
    std::uint32_t room_ = inline_room; ///< a power of two
    std::uint16_t longest_ = 0;        ///< the span of the longest period that was recorded with
};

} // namespace colimit::core

#endif

// SPDX-License-Identifier: BSL-1.0
//
// A sliding log in process: the charges and their times, for as long as they may count. In Redis it
// has the bytes of log_value.hpp.
//
//     ring:  | t, sum | t, sum | t, sum | ...      times never decrease, sums grow
//
// An event has the sum of the weights of all events up to it. So bisection finds the weight of a
// window, and when enough of it will have expired, and several windows share one log. An event at t
// counts in (now - period, now]: at t + period it has expired. An event after `now`, which exists
// if the clock was set back, counts as if at `now`. The number of events is bounded: the oldest
// ones are merged, so no weight is forgotten too early. Versions of a policy may have other
// periods: the log remembers the longest one, and keeps its events for that long.
//
// The ring doubles as it grows. The first two events are in the object itself, which is one cache
// line. If memory for more cannot be allocated, new events are merged into the newest one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace colimit::core {

struct logged_event {
    std::int64_t t;
    std::int64_t sum; ///< the weight of all events up to this one

    friend bool operator==(const logged_event&, const logged_event&) = default;
};

class event_log {
  public:
    /// The largest sum of the weights that count.
    static constexpr std::int64_t max_weight = (std::int64_t{1} << 32) - 1;

    event_log() = default;
    event_log(event_log&& other) noexcept { *this = std::move(other); }
    event_log& operator=(event_log&& other) noexcept;
    event_log(const event_log&) = delete;
    event_log& operator=(const event_log&) = delete;
    ~event_log() = default;

    [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
    /// Returns the number of events, including expired ones.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns an event that is not forgotten, with a sum from the first of them on.
    [[nodiscard]] logged_event event_at(std::size_t i) const noexcept {
        const auto e = at(static_cast<std::uint32_t>(i));
        return {.t = e.t, .sum = static_cast<std::int64_t>(e.sum - forgotten_)};
    }
    /// Returns the time of the last event, which may be after now, or 0 if the log is empty.
    [[nodiscard]] std::int64_t last() const noexcept { return size_ == 0 ? 0 : at(size_ - 1).t; }
    /// Returns how long events are kept: `period`, or a longer one with which an event was recorded
    /// since the log was empty.
    [[nodiscard]] std::int64_t kept_for(std::int64_t period) const noexcept;
    /// Returns the memory in use, including the object itself.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of(room()); }

    /// Returns the sum of the weights that count in the window.
    [[nodiscard]] std::int64_t used(std::int64_t now, std::int64_t period) const noexcept {
        return static_cast<std::int64_t>(last_sum() - sum_before(first_after(now - period)));
    }
    /// Returns the time of the last event, at most `now`, or 0 if no event counts in the window.
    [[nodiscard]] std::int64_t newest(std::int64_t now, std::int64_t period) const noexcept;
    /// Returns 0 if `amount` fits below `limit`, or when enough of the oldest events will have
    /// expired. For an amount above the limit, returns when the whole window will have expired.
    [[nodiscard]] std::int64_t fits_at(std::int64_t now, std::int64_t limit, std::int64_t period,
                                       std::int64_t amount) const noexcept;

    /// Merges the events after `now` to one event at `now`. Returns whether it found any.
    bool move_to(std::int64_t now) noexcept;

    /// Returns the memory in use after an event has been recorded.
    [[nodiscard]] std::size_t bytes_to_record(std::int64_t now, std::int64_t keep_period,
                                              std::int64_t capacity) const noexcept;

    /// Adds an event at `now`, and forgets those older than `keep_period`. The weight is reduced so
    /// that at most `max_weight` counts; with a weight of 0 nothing changes.
    /// @param capacity above this number of events the oldest are merged, at the time of the last
    ///                 of them, so that their charges count for longer, not shorter. If the
    ///                 capacity is above 4/3 of the limit plus 4, decisions depend on this only
    ///                 after a refund
    /// @param may_grow if false, or without memory, an event without room is merged with the one
    ///                 before it at `now`, so that both count for longer, not shorter
    /// @returns whether an event was recorded
    bool record(std::int64_t now, std::int64_t weight, std::int64_t keep_period,
                std::int64_t capacity, bool may_grow = true) noexcept;

    /// Takes `weight` from the newest events, and forgets those older than `keep_period`. With a
    /// weight of 0 nothing changes. Returns whether the log changed.
    bool refund(std::int64_t now, std::int64_t weight, std::int64_t keep_period) noexcept;

    void clear() noexcept;

  private:
    struct event {
        std::int64_t t;
        std::uint64_t sum; ///< the weight of all events up to this one
    };
    static constexpr std::uint32_t inline_room = 2;

    [[nodiscard]] static std::size_t bytes_of(std::uint32_t room) noexcept {
        return sizeof(event_log) + (room > inline_room ? room * sizeof(event) : 0);
    }
    [[nodiscard]] std::uint32_t room() const noexcept { return std::uint32_t{1} << room_width_; }
    [[nodiscard]] const event& at(std::uint32_t i) const noexcept {
        return events()[(first_ + i) & (room() - 1)];
    }
    [[nodiscard]] const event* events() const noexcept {
        return ring_ ? ring_.get() : inline_.data();
    }
    void set(std::uint32_t i, event e) noexcept {
        auto* events = ring_ ? ring_.get() : inline_.data();
        events[(first_ + i) & (room() - 1)] = e;
    }
    [[nodiscard]] std::uint64_t sum_before(std::uint32_t i) const noexcept {
        return i == 0 ? forgotten_ : at(i - 1).sum;
    }
    [[nodiscard]] std::uint64_t last_sum() const noexcept { return sum_before(size_); }
    [[nodiscard]] std::uint32_t first_after(std::int64_t t) const noexcept;
    [[nodiscard]] std::uint32_t first_with(std::uint64_t sum) const noexcept;
    [[nodiscard]] std::uint32_t excess(std::uint32_t old, std::int64_t capacity) const noexcept;
    [[nodiscard]] std::uint32_t room_for_one_more(std::uint32_t events) const noexcept;
    void drop_oldest(std::uint32_t count) noexcept;
    void merge_oldest(std::uint32_t count) noexcept;
    void resize(std::uint32_t room) noexcept;
    void keep_for(std::int64_t us) noexcept;

    std::unique_ptr<event[]> ring_; // NOLINT: a vector would store its size again
    std::array<event, inline_room> inline_{};
    std::uint64_t forgotten_ = 0; ///< the sum before the first event
    std::uint32_t first_ = 0;
    std::uint32_t size_ = 0;
    std::uint64_t longest_ : 56 = 0;   ///< the longest period of a recorded event
    std::uint64_t room_width_ : 8 = 1; ///< the room is this power of two
};

} // namespace colimit::core

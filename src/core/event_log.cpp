// SPDX-License-Identifier: BSL-1.0
//
// Events are added at one end of the ring and expire at the other; a refund takes the newest.

#include <colimit/limits.hpp>
#include <core/event_log.hpp>
#include <core/integers.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <ranges>

namespace colimit::core {

event_log& event_log::operator=(event_log&& other) noexcept {
    if (this == &other)
        return *this;
    ring_ = std::move(other.ring_);
    inline_ = other.inline_;
    forgotten_ = other.forgotten_;
    first_ = other.first_;
    size_ = other.size_;
    longest_ = other.longest_;
    room_width_ = other.room_width_;
    other.clear();
    return *this;
}

void event_log::clear() noexcept {
    ring_.reset();
    forgotten_ = 0;
    first_ = 0;
    size_ = 0;
    longest_ = 0;
    room_width_ = 1;
}

std::int64_t event_log::kept_for(std::int64_t period) const noexcept {
    return size_ == 0 ? period : std::max(period, static_cast<std::int64_t>(longest_));
}

void event_log::keep_for(std::int64_t us) noexcept {
    longest_ = static_cast<std::uint64_t>(us) & ((std::uint64_t{1} << 56) - 1);
}

/// Returns the index of the first event after `t`, or `size_`.
std::uint32_t event_log::first_after(std::int64_t t) const noexcept {
    const auto indexes = std::views::iota(std::uint32_t{0}, size_);
    return static_cast<std::uint32_t>(
        std::ranges::partition_point(indexes, [&](std::uint32_t i) { return at(i).t <= t; }) -
        indexes.begin());
}

/// Returns the index of the first event whose sum is at least `sum`, or `size_`.
std::uint32_t event_log::first_with(std::uint64_t sum) const noexcept {
    const auto indexes = std::views::iota(std::uint32_t{0}, size_);
    return static_cast<std::uint32_t>(
        std::ranges::partition_point(indexes, [&](std::uint32_t i) { return at(i).sum < sum; }) -
        indexes.begin());
}

std::int64_t event_log::newest(std::int64_t now, std::int64_t period) const noexcept {
    if (size_ == 0 || at(size_ - 1).t <= now - period)
        return 0;
    return std::min(at(size_ - 1).t, now);
}

std::int64_t event_log::fits_at(std::int64_t now, std::int64_t limit, std::int64_t period,
                                std::int64_t amount) const noexcept {
    const auto first = first_after(now - period);
    const auto used = static_cast<std::int64_t>(last_sum() - sum_before(first));
    const auto over = used + amount - limit;
    if (over <= 0)
        return 0;
    if (over > used)
        return now + period;
    const auto last = first_with(sum_before(first) + static_cast<std::uint64_t>(over));
    return std::min(at(last).t, now) + period;
}

bool event_log::move_to(std::int64_t now) noexcept {
    const auto first = first_after(now);
    if (first == size_)
        return false;
    set(first, {.t = now, .sum = last_sum()});
    size_ = first + 1;
    return true;
}

/// Returns how many events must be merged into the next one before an event is recorded, if `old`
/// have expired: an eighth of the capacity at once, so that few calls do it.
std::uint32_t event_log::excess(std::uint32_t old, std::int64_t capacity) const noexcept {
    const auto live = std::int64_t{size_ - old};
    const auto too_many = live + 1 - capacity;
    return too_many <= 0 ? 0 : static_cast<std::uint32_t>(std::min(too_many + capacity / 8, live));
}

/// Returns the size that the ring needs: doubled when it is full, and a quarter when less than an
/// eighth is in use, so that a key does not keep the memory of its busiest hour.
std::uint32_t event_log::room_for_one_more(std::uint32_t events) const noexcept {
    if (events >= room())
        return 2 * room();
    return events < room() / 8 ? std::max(room() / 4, inline_room) : room();
}

std::size_t event_log::bytes_to_record(std::int64_t now, std::int64_t keep_period,
                                       std::int64_t capacity) const noexcept {
    const auto old = first_after(now - kept_for(keep_period));
    return bytes_of(room_for_one_more(size_ - old - excess(old, capacity)));
}

bool event_log::record(std::int64_t now, std::int64_t weight, std::int64_t keep_period,
                       std::int64_t capacity, bool may_grow) noexcept {
    BOOST_ASSERT(now >= 0 && weight >= 0 && keep_period >= 0 && capacity >= 1);
    const auto kept = kept_for(keep_period);
    const auto cut = std::min(weight, max_weight - used(now, kept));
    if (cut <= 0)
        return false;
    (void)move_to(now);
    drop_oldest(first_after(now - kept));
    keep_for(kept_for(keep_period));
    const auto sum = last_sum() + static_cast<std::uint64_t>(cut);
    merge_oldest(excess(0, capacity));
    const auto needed = room_for_one_more(size_);
    if (needed < room() || (needed > room() && may_grow))
        resize(needed);
    if (size_ < room())
        ++size_;
    set(size_ - 1, {.t = now, .sum = sum});
    return true;
}

bool event_log::refund(std::int64_t now, std::int64_t weight, std::int64_t keep_period) noexcept {
    if (weight <= 0 || size_ == 0)
        return false;
    (void)move_to(now);
    drop_oldest(first_after(now - kept_for(keep_period)));
    keep_for(std::max(keep_period, static_cast<std::int64_t>(longest_)));
    const auto left = static_cast<std::int64_t>(last_sum() - forgotten_) - weight;
    if (left <= 0) {
        clear();
        return true;
    }
    const auto sum = forgotten_ + static_cast<std::uint64_t>(left);
    size_ = first_with(sum) + 1;
    set(size_ - 1, {.t = at(size_ - 1).t, .sum = sum});
    return true;
}

void event_log::drop_oldest(std::uint32_t count) noexcept {
    forgotten_ = sum_before(count);
    merge_oldest(count);
}

/// Merges events into the next one, by dropping the sums that distinguish them.
void event_log::merge_oldest(std::uint32_t count) noexcept {
    first_ = (first_ + count) & (room() - 1);
    size_ -= count;
}

/// Changes the size of the ring, unless memory cannot be allocated.
void event_log::resize(std::uint32_t room) noexcept {
    auto ring = std::unique_ptr<event[]>{}; // NOLINT: as in the class
    if (room > inline_room) {
        ring.reset(new (std::nothrow) event[room]);
        if (!ring)
            return;
    }
    auto* to = ring ? ring.get() : inline_.data();
    for (std::uint32_t i = 0; i < size_; ++i)
        to[i] = at(i);
    ring_ = std::move(ring);
    first_ = 0;
    room_width_ = static_cast<unsigned>(std::countr_zero(room)) & 0xffU;
}

} // namespace colimit::core

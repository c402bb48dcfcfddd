// SPDX-License-Identifier: BSL-1.0
//
// New leases end last, so holders are usually added at the end; they are found by a search through
// all, of which there are few.

#include <core/slot_set.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace colimit::core {
namespace {

[[nodiscard]] bool has_id(const slot_set::holder& h, std::string_view id) noexcept {
    return std::string_view{h.id.data(), h.id.size()} == id;
}

/// Returns the room of a full vector after it has grown.
[[nodiscard]] std::size_t grown(std::size_t room) noexcept {
    return std::max<std::size_t>(4, 2 * room);
}

} // namespace

std::int64_t slot_set::next_token(std::int64_t now) const noexcept {
    return std::min(max_token, std::max(token_ + 1, now));
}

/// Returns the index of the first holder whose lease ends after `t`, or their number.
std::size_t slot_set::first_after(std::int64_t t) const noexcept {
    const auto found = std::ranges::upper_bound(holders_, t, {}, &holder::end);
    return static_cast<std::size_t>(found - holders_.begin());
}

std::int64_t slot_set::count(std::int64_t now) const noexcept {
    return static_cast<std::int64_t>(holders_.size() - first_after(now));
}

bool slot_set::holds(std::string_view id, std::int64_t now) const noexcept {
    return std::ranges::any_of(holders_,
                               [&](const holder& h) { return h.end > now && has_id(h, id); });
}

std::int64_t slot_set::last_end(std::int64_t now, std::int64_t lease) const noexcept {
    return count(now) == 0 ? 0 : std::min(holders_.back().end, now + lease);
}

std::int64_t slot_set::free_at(std::int64_t now, std::int64_t limit,
                               std::int64_t lease) const noexcept {
    BOOST_ASSERT(limit >= 1 && count(now) >= limit);
    const auto& last_to_end = holders_[holders_.size() - static_cast<std::size_t>(limit)];
    return std::min(last_to_end.end, now + lease);
}

std::size_t slot_set::bytes_with_room(std::int64_t now) const noexcept {
    const auto has_room = first_after(now) > 0 || holders_.size() < holders_.capacity();
    const auto room = has_room ? holders_.capacity() : grown(holders_.capacity());
    return sizeof(slot_set) + room * sizeof(holder);
}

bool slot_set::make_room(std::int64_t now) noexcept {
    if (first_after(now) > 0 || holders_.size() < holders_.capacity())
        return true;
    try {
        holders_.reserve(grown(holders_.capacity()));
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

bool slot_set::shorten(std::int64_t now, std::int64_t lease) noexcept {
    const auto first = first_after(now + lease);
    for (auto i = first; i < holders_.size(); ++i)
        holders_[i].end = now + lease;
    return first < holders_.size();
}

void slot_set::insert(std::string_view id, std::int64_t end) noexcept {
    BOOST_ASSERT(id.size() == detail::holder_bytes && holders_.size() < holders_.capacity());
    auto made = holder{.end = end, .id = {}};
    std::ranges::copy(id, made.id.begin());
    holders_.insert(holders_.begin() + static_cast<std::ptrdiff_t>(first_after(end)), made);
}

void slot_set::add(std::string_view id, std::int64_t now, std::int64_t lease) noexcept {
    token_ = next_token(now);
    holders_.erase(holders_.begin(),
                   holders_.begin() + static_cast<std::ptrdiff_t>(first_after(now)));
    (void)remove(id);
    insert(id, now + lease);
}

void slot_set::extend(std::string_view id, std::int64_t now, std::int64_t lease) noexcept {
    if (remove(id))
        insert(id, now + lease);
}

bool slot_set::remove(std::string_view id) noexcept {
    const auto found =
        std::ranges::find_if(holders_, [id](const holder& h) { return has_id(h, id); });
    if (found == holders_.end())
        return false;
    holders_.erase(found);
    return true;
}

} // namespace colimit::core

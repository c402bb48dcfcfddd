// SPDX-License-Identifier: BSL-1.0
//
// The constructor brings a map into its only representation; a change makes a new map.

#include <redis/cluster/slot_map.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace colimit::redis {
namespace {

/// Sorts ranges, and makes one of those that continue each other.
void join(std::vector<slot_map::range>& ranges) {
    std::ranges::sort(ranges, {}, &slot_map::range::first);
    auto joined = std::size_t{0};
    for (const auto& r : ranges) {
        BOOST_ASSERT(r.first <= r.last && r.last < hash_slot_count);
        BOOST_ASSERT(joined == 0 || ranges[joined - 1].last < r.first);
        if (joined > 0 && ranges[joined - 1].master == r.master &&
            ranges[joined - 1].last + 1 == r.first)
            ranges[joined - 1].last = r.last;
        else
            ranges[joined++] = r;
    }
    ranges.resize(joined);
}

} // namespace

slot_map::slot_map(std::vector<host_port> masters, std::vector<host_port> replicas,
                   std::vector<range> ranges)
    : replicas_(std::move(replicas)), ranges_(std::move(ranges)) {
    BOOST_ASSERT(masters.size() <= hash_slot_count + 1);
    auto serves = std::vector<bool>(masters.size());
    for (const auto& r : ranges_)
        serves[r.master] = true;
    auto order = std::vector<std::uint16_t>{};
    for (std::size_t i = 0; i < masters.size(); ++i)
        if (serves[i])
            order.push_back(static_cast<std::uint16_t>(i));
    std::ranges::sort(order, {}, [&](std::uint16_t i) -> auto& { return masters[i]; });

    auto index = std::vector<std::uint16_t>(masters.size());
    masters_.reserve(order.size());
    for (const auto i : order) {
        index[i] = static_cast<std::uint16_t>(masters_.size());
        masters_.push_back(std::move(masters[i]));
    }
    for (auto& r : ranges_)
        r.master = index[r.master];
    join(ranges_);

    std::ranges::sort(replicas_);
    const auto copies = std::ranges::unique(replicas_);
    replicas_.erase(copies.begin(), copies.end());
    std::erase_if(replicas_, [this](const host_port& node) {
        return std::ranges::binary_search(masters_, node);
    });
}

std::optional<std::size_t> slot_map::master_of(std::uint16_t slot) const noexcept {
    BOOST_ASSERT(slot < hash_slot_count);
    const auto after = std::ranges::upper_bound(ranges_, slot, {}, &range::first);
    if (after == ranges_.begin() || std::prev(after)->last < slot)
        return std::nullopt;
    return std::prev(after)->master;
}

bool slot_map::apply_moved(std::uint16_t slot, const host_port& to) {
    if (const auto* const now = owner(slot); now != nullptr && *now == to)
        return false;
    auto masters = masters_;
    const auto found = std::ranges::find(masters, to);
    const auto master = static_cast<std::uint16_t>(found - masters.begin());
    if (found == masters.end())
        masters.push_back(to);
    auto ranges = std::vector<range>{{slot, slot, master}};
    ranges.reserve(ranges_.size() + 2);
    for (const auto& r : ranges_) {
        if (r.first < slot)
            ranges.push_back(
                {r.first, std::min(r.last, static_cast<std::uint16_t>(slot - 1)), r.master});
        if (r.last > slot)
            ranges.push_back(
                {std::max(r.first, static_cast<std::uint16_t>(slot + 1)), r.last, r.master});
    }
    *this = slot_map{std::move(masters), replicas_, std::move(ranges)};
    return true;
}

bool slot_map::fill_gaps(const slot_map& from) {
    auto masters = masters_;
    auto ranges = ranges_;
    auto added = std::vector<std::optional<std::uint16_t>>(from.masters_.size());
    const auto add = [&](std::size_t first, std::size_t end, std::uint16_t of) {
        auto& index = added[of];
        if (!index) {
            const auto found = std::ranges::find(masters, from.masters_[of]);
            index = static_cast<std::uint16_t>(found - masters.begin());
            if (found == masters.end())
                masters.push_back(from.masters_[of]);
        }
        ranges.push_back(
            {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(end - 1), *index});
    };
    auto next = ranges_.begin();
    for (const auto& r : from.ranges_) {
        auto first = std::size_t{r.first};
        const auto end = r.last + std::size_t{1};
        for (; next != ranges_.end() && next->last < first; ++next) {
        }
        for (auto own = next; own != ranges_.end() && first < end; ++own) {
            if (first < own->first)
                add(first, std::min<std::size_t>(own->first, end), r.master);
            first = own->last + std::size_t{1};
        }
        if (first < end)
            add(first, end, r.master);
    }
    if (ranges.size() == ranges_.size())
        return false;
    *this = slot_map{std::move(masters), replicas_, std::move(ranges)};
    return true;
}

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// A bounded table of sets with up to eight entries each. One half of a key's digest selects its
// set, and both halves identify its entry:
//
//   tags      [ .  3f..  .  a1..  .  .  .  . ]   half of a digest, 0: free; one line of the cache
//   entries   [ .  {..}  .  {..}  .  .  .  . ]
//
// Memory is allocated with the first entry, and never grows.

#pragma once

#include <base/zeroed_array.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace colimit::detail {

/// @tparam Entry trivial; its member `digest` belongs to the table
template<class Entry>
class set_table {
  public:
    /// @param capacity entries, at least 1
    explicit set_table(std::size_t capacity) noexcept
        : ways_(std::min(capacity, most_ways)), sets_(std::bit_floor(capacity / ways_)) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Returns the entry of a key; null if there is none. The halves of a digest are `low` and
    /// `high`, here and in the following.
    [[nodiscard]] Entry* find(std::uint64_t low, std::uint64_t high) noexcept {
        if (size_ == 0)
            return nullptr;
        const auto first = first_in_set(low);
        for (auto i = first; i < first + ways_; ++i)
            if (memory_->tags[i] == tag_of(high) && memory_->entries[i].digest == low)
                return &memory_->entries[i];
        return nullptr;
    }

    /// Returns the entry of a key, or the first free one of its set, or the one with the smallest
    /// rank, which it replaces; null if all have the rank `stays`. The new entry has the contents
    /// of a former one, or zeros. Throws bad_alloc.
    template<class RankOf>
    [[nodiscard]] Entry* find_or_insert(std::uint64_t low, std::uint64_t high, RankOf rank_of) {
        if (!memory_)
            memory_.emplace(sets_ * ways_);
        if (auto* own = find(low, high); own != nullptr)
            return own;
        const auto first = first_in_set(low);
        auto best = first + ways_;
        auto least = stays;
        for (auto i = first; i < first + ways_; ++i) {
            if (memory_->tags[i] == 0) {
                best = i;
                ++size_;
                break;
            }
            if (const auto rank = std::int64_t{rank_of(memory_->entries[i])}; rank < least) {
                best = i;
                least = rank;
            }
        }
        if (best == first + ways_)
            return nullptr;
        memory_->tags[best] = tag_of(high);
        memory_->entries[best].digest = low;
        return &memory_->entries[best];
    }

    /// @param which an entry, or null
    void erase(const Entry* which) noexcept {
        if (which == nullptr)
            return;
        memory_->tags[static_cast<std::size_t>(which - &memory_->entries[0])] = 0;
        --size_;
    }

    void clear() noexcept {
        memory_.reset();
        size_ = 0;
    }

    static constexpr auto stays = INT64_MAX;

  private:
    static constexpr std::size_t most_ways = 8;

    struct memory {
        explicit memory(std::size_t size) : tags(size), entries(size) {}
        zeroed_array<std::uint64_t> tags;
        zeroed_array<Entry> entries;
    };

    [[nodiscard]] static std::uint64_t tag_of(std::uint64_t high) noexcept { return high | 1U; }
    [[nodiscard]] std::size_t first_in_set(std::uint64_t low) const noexcept {
        return (static_cast<std::size_t>(low) & (sets_ - 1)) * ways_;
    }

    std::size_t ways_;
    std::size_t sets_;
    std::optional<memory> memory_;
    std::size_t size_ = 0;
};

} // namespace colimit::detail

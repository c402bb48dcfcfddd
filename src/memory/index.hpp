// SPDX-License-Identifier: BSL-1.0
//
// Finds the first cell of a key by the digest of the key. A hash table of cell numbers, made in its
// final size: a bucket is one cache line of 15 entries, an entry has 32 bits,
//
//     | some bits of the digest | number of the cell + 1 |      0: empty
//     |  32 - width of capacity |    width of capacity   |
//
// so that with a million cells a search skips 2,047 of 2,048 entries of other keys without reading
// their cells. A full bucket counts the keys that continue in the next one; a search ends at the
// first bucket that no key has passed. Erasing leaves no tombstones, and entries are not moved to
// other buckets, so no call pays for a rehash. With at most 11 of 15 entries in use that is 6 bytes
// per key, and one cache line in 97 of 100 searches.

#pragma once

#include <base/zeroed_array.hpp>
#include <hash/siphash.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace colimit::memory {

/// Stands for the number of a cell that does not exist.
inline constexpr std::uint32_t no_cell = ~std::uint32_t{0};

class index {
  public:
    /// @param capacity the number of entries and of cells, 1 to 2^30
    explicit index(std::size_t capacity)
        : cell_mask_((std::uint32_t{1} << std::bit_width(capacity)) - 1),
          buckets_(capacity / used_per_bucket + 1) {
        BOOST_ASSERT(capacity >= 1 && capacity <= std::size_t{1} << 30);
    }

    /// Returns the first cell for which `is_it(cell)` holds, of those that may have this digest.
    template<class Predicate>
    [[nodiscard]] std::uint32_t find(const hash::digest& id, Predicate is_it) const noexcept {
        const auto wanted = fingerprint(id);
        auto at = home(id);
        for (std::size_t probes = 0; probes < buckets_.size(); ++probes, at = next(at)) {
            const auto& b = buckets_[at];
            for (const auto entry : b.entries) {
                if (entry == 0)
                    break;
                const auto cell = (entry & cell_mask_) - 1;
                if ((entry & ~cell_mask_) == wanted && is_it(cell))
                    return cell;
            }
            if (b.passed == 0)
                break;
        }
        return no_cell;
    }

    /// Adds a cell that the index does not have.
    void insert(const hash::digest& id, std::uint32_t cell) noexcept {
        BOOST_ASSERT(cell < cell_mask_);
        BOOST_ASSERT(find(id, [cell](std::uint32_t other) { return other == cell; }) == no_cell);
        for (auto at = home(id);; at = next(at)) {
            auto& b = buckets_[at];
            const auto free = std::ranges::find(b.entries, 0U);
            if (free != b.entries.end()) {
                *free = fingerprint(id) | (cell + 1);
                return;
            }
            ++b.passed;
        }
    }

    /// Removes a cell that was inserted with this digest.
    void erase(const hash::digest& id, std::uint32_t cell) noexcept {
        for (auto at = home(id);; at = next(at)) {
            auto& b = buckets_[at];
            const auto found = std::ranges::find(b.entries, fingerprint(id) | (cell + 1));
            if (found != b.entries.end()) {
                const auto last = std::ranges::find(found, b.entries.end(), 0U) - 1;
                *found = *last;
                *last = 0;
                return;
            }
            BOOST_ASSERT(b.passed != 0);
            --b.passed;
        }
    }

  private:
    static constexpr std::size_t entries_per_bucket = 15;
    static constexpr std::size_t used_per_bucket = 11;

    struct alignas(64) bucket {
        std::array<std::uint32_t, entries_per_bucket> entries; ///< the used ones first
        std::uint32_t passed; ///< keys that continue in the next bucket
    };

    [[nodiscard]] std::size_t home(const hash::digest& id) const noexcept {
        return static_cast<std::size_t>(((id.low >> 32) * buckets_.size()) >> 32);
    }
    [[nodiscard]] std::size_t next(std::size_t at) const noexcept {
        return at + 1 == buckets_.size() ? 0 : at + 1;
    }
    [[nodiscard]] std::uint32_t fingerprint(const hash::digest& id) const noexcept {
        return static_cast<std::uint32_t>(id.low) & ~cell_mask_;
    }

    std::uint32_t cell_mask_;
    detail::zeroed_array<bucket> buckets_;
};

} // namespace colimit::memory

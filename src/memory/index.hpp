// SPDX-License-Identifier: BSL-1.0
//
// Finds a key's first cell by its digest. A hash table of numbers of cells, made in its final size:
// a bucket is one cache line of 15 entries, an entry is 32 bits,
//
//     | some bits of the digest | number of the cell + 1 |      0: empty
//     |  32 - width of capacity |    width of capacity   |
//
// so that with a million cells 2,047 of 2,048 entries of other keys are passed over without a look
// at their cells. A full bucket counts the keys that had to go to the next one; a search ends at
// the first bucket that nobody had to pass. Erasing leaves nothing behind, and nothing is ever
// moved, so no call pays for a table that grows. With 11 places used of 15 at most that is 6 bytes
// a key, and one cache line in 97 searches of 100.

#ifndef COLIMIT_MEMORY_INDEX_HPP
#define COLIMIT_MEMORY_INDEX_HPP

#include <base/zeroed_array.hpp>
#include <hash/siphash.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace colimit::memory {

/// The number of no cell.
inline constexpr std::uint32_t no_cell = ~std::uint32_t{0};

class index {
  public:
    /// At most `capacity` entries, of cells below `capacity`; at most 2^30.
    explicit index(std::size_t capacity)
        : cell_mask_((std::uint32_t{1} << std::bit_width(capacity)) - 1),
          buckets_(capacity / used_per_bucket + 1) {}

    /// The first cell for which `is_it(cell)` holds, of those that may have this digest.
    template<class Predicate>
    [[nodiscard]] std::uint32_t find(const hash::digest& id, Predicate is_it) const noexcept {
        const auto wanted = mark(id);
        auto place = home(id);
        for (std::size_t probes = 0; probes < buckets_.size(); ++probes, place = next(place)) {
            const auto& b = buckets_[place];
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

    /// The digest must not be there yet.
    void insert(const hash::digest& id, std::uint32_t cell) noexcept;
    /// The cell must be there under this digest.
    void erase(const hash::digest& id, std::uint32_t cell) noexcept;

  private:
    static constexpr std::size_t places = 15;
    static constexpr std::size_t used_per_bucket = 11;

    struct alignas(64) bucket {
        std::array<std::uint32_t, places> entries; ///< the used ones first
        std::uint32_t passed;                      ///< keys that went on to the next bucket
    };

    [[nodiscard]] std::size_t home(const hash::digest& id) const noexcept {
        return static_cast<std::size_t>(((id.low >> 32) * buckets_.size()) >> 32);
    }
    [[nodiscard]] std::size_t next(std::size_t place) const noexcept {
        return place + 1 == buckets_.size() ? 0 : place + 1;
    }
    [[nodiscard]] std::uint32_t mark(const hash::digest& id) const noexcept {
        return static_cast<std::uint32_t>(id.low) & ~cell_mask_;
    }

    std::uint32_t cell_mask_;
    detail::zeroed_array<bucket> buckets_;
};

} // namespace colimit::memory

#endif

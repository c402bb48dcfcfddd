// SPDX-License-Identifier: BSL-1.0
//
// The Bloom filters of a store in this process: the same bits as in Redis, block by block. A block
// takes memory when the first id falls on it, and its two bitmaps are used again for ever, so a
// filter never takes more than twice what `bloom_filter::bytes` says.

#ifndef COLIMIT_MEMORY_BLOOM_FILTERS_HPP
#define COLIMIT_MEMORY_BLOOM_FILTERS_HPP

#include <core/bloom.hpp>
#include <hash/siphash.hpp>
#include <policy/policy_data.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::memory {

class bloom_filters {
  public:
    /// Whether the id has been here; if not, it has from now on. Nothing when there are
    /// `limits::max_local_filters` other filters that still know ids. May throw std::bad_alloc.
    [[nodiscard]] std::optional<bool> seen(std::string_view id, const detail::policy_data& p,
                                           std::int64_t now);

    [[nodiscard]] std::size_t size() const noexcept { return filters_.size(); }

  private:
    struct bitmap {
        std::int64_t head = 0; ///< 1 and the number of the generation; 0: there is none
        std::vector<std::uint32_t> words;

        [[nodiscard]] bool open(std::int64_t generation, std::int64_t own) noexcept;
        [[nodiscard]] std::span<std::uint32_t> line(const core::bloom_shape& s,
                                                    std::uint32_t i) noexcept {
            return {words.data() + std::size_t{i} * s.words, s.words};
        }
    };
    using block = std::array<bitmap, 2>; // by the parity of the generation

    struct filter {
        std::int64_t known_until = 0; ///< by then its last id is forgotten
        std::vector<block> blocks;

        [[nodiscard]] bool seen(const core::bloom_shape& s, const core::bloom_mark& mark,
                                std::int64_t now);
    };
    using name = std::pair<std::uint64_t, std::uint64_t>;

    [[nodiscard]] filter* find_or_make(const detail::policy_data& p, std::int64_t now);

    std::map<name, filter> filters_;
};

} // namespace colimit::memory

#endif

// SPDX-License-Identifier: BSL-1.0
//
// The Bloom filters of the in-process store, with the same bits as in Redis, block by block. The
// bitmaps of a block are allocated when the first id maps to it, and then reused forever, so a
// filter never takes more than twice `bloom_filter::bytes`.

#pragma once

#include <colimit/detail/call_request.hpp>
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
    /// Returns whether the id is known, and records it if not. Returns nullopt if
    /// `limits::max_local_filters` other filters know ids.
    /// @throws std::bad_alloc
    [[nodiscard]] std::optional<bool> seen(std::string_view id, const detail::policy_data& p,
                                           std::int64_t now);
    /// Returns whether the id is known, and changes nothing.
    [[nodiscard]] bool probably_seen(std::string_view id, const detail::policy_data& p,
                                     std::int64_t now) const noexcept;
    /// Returns the bits that are set in a block's part of the sample, in the current and the
    /// previous generation.
    [[nodiscard]] std::array<std::int64_t, 2>
    inspect(std::uint32_t block, const detail::policy_data& p, std::int64_t now) const noexcept;
    /// Returns the same for the whole sample.
    [[nodiscard]] std::array<std::int64_t, 2> inspect(const detail::policy_data& p,
                                                      std::int64_t now) const noexcept;
    /// Does what the verb of a call asks for.
    [[nodiscard]] std::optional<bool> decide(detail::verb v, std::string_view id,
                                             const detail::policy_data& p, std::int64_t now);

    [[nodiscard]] std::size_t size() const noexcept { return filters_.size(); }

  private:
    struct bitmap {
        std::int64_t head = 0; ///< the number of the generation plus 1, or 0
        std::vector<std::uint32_t> words;

        /// Returns whether it counts at `generation`: it is not older than the one before.
        [[nodiscard]] bool counts_at(std::int64_t generation) const noexcept {
            return head != 0 && head >= generation;
        }
        [[nodiscard]] bool open(std::int64_t generation, std::int64_t own) noexcept;
        [[nodiscard]] std::span<std::uint32_t> line(const core::bloom_shape& s,
                                                    std::uint32_t i) noexcept {
            return {words.data() + std::size_t{i} * s.words, s.words};
        }
        [[nodiscard]] bool has(const core::bloom_shape& s,
                               const core::bloom_bits& bits) const noexcept {
            return core::has_bits({words.data() + std::size_t{bits.line} * s.words, s.words}, bits);
        }
    };
    using block = std::array<bitmap, 2>; ///< by the parity of the generation

    struct filter {
        std::int64_t known_until = 0; ///< no id is known after that
        std::vector<block> blocks;

        [[nodiscard]] bool seen(const core::bloom_shape& s, const core::bloom_bits& bits,
                                std::int64_t now);
    };
    using name = std::pair<std::uint64_t, std::uint64_t>;

    [[nodiscard]] filter* find_or_make(const detail::policy_data& p, std::int64_t now);

    std::map<name, filter> filters_;
};

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// Which bits of a Bloom filter an id has, and how large the filter must be: Burton Bloom,
// "Space/time trade-offs in hash coding with allowable errors", CACM 13 (1970).
//
//     digest of an id:  | 64 bits: its line | 64 bits: seed of its places in the line |
//
//     block:  | generation | line | line | ...          at most 1 MiB: a string in Redis
//     line:   | word | word | ... |                     1 to 24 words of 32 bits
//
// An id has one bit in each word of one line. Looking it up is one read of some dozen bytes, here
// and in Redis, where scattered bits cost twice the time (lua/README.md); at 1 % that takes a tenth
// more memory. Felix Putze, Peter Sanders, Johannes Singler, "Cache-, hash- and space-efficient
// Bloom filters", WEA 2007; Jim Apple, "Split block Bloom filters", arXiv:2101.01719.
//
// There are two generations, each `ttl` long; see the public header. All of this is fixed by the
// filter's parameters, in whole numbers: both stores set the same bits, and err about the same ids.

#ifndef COLIMIT_CORE_BLOOM_HPP
#define COLIMIT_CORE_BLOOM_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace colimit::core {

/// 128 bits of a good hash.
struct id_digest {
    std::uint64_t line;
    std::uint64_t seed;
};

struct bloom_shape {
    static constexpr std::uint32_t most_words = 24;
    /// Bytes of a block at most: with what Redis and its allocator add, no more than 1 MiB.
    static constexpr std::uint32_t most_bytes = 1'048'512;
    static constexpr std::uint32_t head_bytes = 8;

    std::int64_t ttl = 0;    ///< of a generation, in microseconds
    std::uint32_t words = 0; ///< of a line
    std::uint32_t lines = 0; ///< of a block
    std::uint32_t blocks = 0;

    [[nodiscard]] std::uint32_t line_bytes() const noexcept { return 4 * words; }
    [[nodiscard]] std::uint32_t block_bytes() const noexcept {
        return head_bytes + lines * line_bytes();
    }
    [[nodiscard]] std::int64_t bytes() const noexcept {
        return std::int64_t{blocks} * block_bytes();
    }
    friend bool operator==(const bloom_shape&, const bloom_shape&) = default;
};

/// The bits of an id.
struct bloom_mark {
    std::uint32_t block;
    std::uint32_t line; ///< in the block
    std::array<std::uint32_t, bloom_shape::most_words> words;
};

/// The smallest filter that calls at most a share `error_rate` of new ids old while each generation
/// holds `capacity` ids. Both generations are asked, so each may err half as often; and a twentieth
/// less, for a measured rate scatters.
[[nodiscard]] bloom_shape make_bloom(std::int64_t capacity, double error_rate,
                                     std::int64_t ttl) noexcept;

[[nodiscard]] bloom_mark mark_of(const bloom_shape& shape, id_digest id) noexcept;

/// Whether all of the id's bits are set in its line.
[[nodiscard]] inline bool has_mark(std::span<const std::uint32_t> line,
                                   const bloom_mark& mark) noexcept {
    for (std::size_t i = 0; i < line.size(); ++i)
        if ((line[i] & mark.words[i]) == 0)
            return false;
    return true;
}

/// FNV-1a of the filter's numbers: with other numbers, other bits mean an id.
[[nodiscard]] std::uint32_t filter_tag(const bloom_shape& shape) noexcept;

} // namespace colimit::core

#endif

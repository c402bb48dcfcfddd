// SPDX-License-Identifier: BSL-1.0
//
// The bits of an id in a Bloom filter, and the size of a filter: Burton Bloom, "Space/time
// trade-offs in hash coding with allowable errors", CACM 13 (1970).
//
//     digest of an id:  | 64 bits: its line | 64 bits: the seed of its bits in the line |
//
//     block:  | generation | line | line | ...          at most 1 MiB: a string in Redis
//     line:   | word | word | ... |                     1 to 24 words of 32 bits
//
// An id has one bit in each word of one line. So a lookup is one read of some dozen bytes, here and
// in Redis, where scattered bits take twice the time (lua/README.md); at 1 % it needs a tenth more
// memory. Felix Putze, Peter Sanders, Johannes Singler, "Cache-, hash- and space-efficient Bloom
// filters", WEA 2007; Jim Apple, "Split block Bloom filters", arXiv:2101.01719.
//
// A filter has two generations, each `ttl` long; see the public header. All sizes follow from the
// filter's parameters, in integers: both stores set the same bits, and err about the same ids.
//
// A filter is a policy, except for its script: it has a name, a prefix and a wire format, the block
// of an id is the key of the call, and the id's bits are its member. So batches, deadlines and
// errors are those of policies. Bits are computed only in C++; otherwise a script would have to
// hash as C++ does.
//
// An id is recorded from its first use, like with `once`: a lookup of a known id writes nothing,
// and an id that is looked up all the time is new again after one to two TTLs. A filter with other
// numbers is another filter, as its bits mean other ids: the numbers are part of its keys, and both
// versions keep their own state during a deployment.

#pragma once

#include <boost/assert.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colimit::core {

/// 128 bits of SHA-256 of an id: the same in every process and store.
struct id_digest {
    std::uint64_t line;
    std::uint64_t seed;
};

struct bloom_shape {
    static constexpr std::uint32_t max_words = 24;
    /// The bytes of a block; with the overhead of Redis and its allocator at most 1 MiB.
    static constexpr std::uint32_t max_bytes = 1'048'512;
    static constexpr std::uint32_t head_bytes = 8;

    std::int64_t ttl = 0;    ///< of a generation, in microseconds
    std::uint32_t words = 0; ///< per line
    std::uint32_t lines = 0; ///< per block
    std::uint32_t blocks = 0;
    std::int64_t capacity = 0; ///< ids for which it was made; not a part of the filter's identity

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
struct bloom_bits {
    std::uint32_t block;
    std::uint32_t line;                                      ///< in the block
    std::array<std::uint32_t, bloom_shape::max_words> words; ///< one bit in each
};

/// Returns the smallest filter that takes at most a fraction `error_rate` of new ids for known ones
/// while each generation has `capacity` ids. Both generations are read, so each may err half as
/// often, and a twentieth less, as a measured rate varies.
[[nodiscard]] bloom_shape make_bloom(std::int64_t capacity, double error_rate,
                                     std::int64_t ttl) noexcept;

[[nodiscard]] bloom_bits bits_of(const bloom_shape& shape, id_digest id) noexcept;
[[nodiscard]] bloom_bits bits_of(const bloom_shape& shape, std::string_view id) noexcept;

/// Returns whether all bits of an id are set in its line.
[[nodiscard]] inline bool has_bits(std::span<const std::uint32_t> line,
                                   const bloom_bits& bits) noexcept {
    BOOST_ASSERT(line.size() <= bits.words.size());
    for (std::size_t i = 0; i < line.size(); ++i)
        if ((line[i] & bits.words[i]) == 0)
            return false;
    return true;
}

/// The part of a filter whose bits are counted to find out how full it is: the first lines of some
/// blocks. Ids fall on all lines alike, so any lines are a random sample.
struct bloom_sample {
    std::uint32_t blocks = 0;
    std::uint32_t lines = 0; ///< of each block

    /// Returns the number of the i-th block of the sample.
    [[nodiscard]] std::uint32_t block(const bloom_shape& shape, std::uint32_t i) const noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{i} * shape.blocks / blocks);
    }
};

[[nodiscard]] bloom_sample sample_of(const bloom_shape& shape) noexcept;

/// How full a generation is.
struct bloom_load {
    double fill = 0;       ///< the fraction of bits that are set
    double ids = 0;        ///< recorded, by estimate
    double error_rate = 0; ///< the probability that a new id is taken for one of its ids
};

/// Estimates how full a generation is, from the number of bits that are set in the sample.
[[nodiscard]] bloom_load load_of(const bloom_shape& shape, std::int64_t set) noexcept;

/// Returns FNV-1a of the filter's numbers: with other numbers an id has other bits.
[[nodiscard]] std::uint32_t filter_tag(const bloom_shape& shape) noexcept;

} // namespace colimit::core

// SPDX-License-Identifier: BSL-1.0
//
// Computes the size of a filter from its error rate, and the bits of an id.

#include <colimit/limits.hpp>
#include <core/bloom.hpp>
#include <core/integers.hpp>
#include <hash/fnv1a.hpp>
#include <hash/sha256.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace colimit::core {
namespace {

constexpr std::uint32_t bits_per_word = 32;

/// Ids per line are counted in such parts of an id, so that the size of a filter does not depend on
/// how a machine rounds.
constexpr std::int64_t parts = 16;
constexpr std::int64_t max_load = 64 * parts;

/// Returns the probability that all bits of a new id are set, if ids are assigned to lines at
/// random, `load` per line on average. The others do not make up for lines with many ids.
[[nodiscard]] double error_of(std::uint32_t words, double load) noexcept {
    auto sum = 0.0;
    auto probable = std::exp(-load); // that a line has so many ids (Poisson)
    auto clear = 1.0;                // that a bit of such a line is clear
    const auto most = std::max(4.0 * max_load / parts, 4 * load);
    for (auto ids = 1; ids < most; ++ids) {
        probable *= load / ids;
        clear *= 1.0 - 1.0 / bits_per_word;
        sum += probable * std::pow(1.0 - clear, words);
    }
    return sum;
}

/// Returns the largest number of ids per line, in parts, that keeps the error rate.
[[nodiscard]] std::int64_t load_for(std::uint32_t words, double error) noexcept {
    auto fits = std::int64_t{0};
    auto fails = max_load;
    while (fails - fits > 1) {
        const auto middle = (fits + fails) / 2;
        const auto load = static_cast<double>(middle) / static_cast<double>(parts);
        (error_of(words, load) <= error ? fits : fails) = middle;
    }
    return fits;
}

/// SplitMix64: Guy Steele, Doug Lea, Christine Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014.
[[nodiscard]] std::uint64_t next_random(std::uint64_t& state) noexcept {
    state += 0x9e3779b97f4a7c15U;
    auto z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

} // namespace

bloom_shape make_bloom(std::int64_t capacity, double error_rate, std::int64_t ttl) noexcept {
    BOOST_ASSERT(capacity >= 1 && error_rate > 0 && error_rate < 1 && ttl >= 1);
    const auto error = error_rate / 2 * 0.95;
    auto words = std::uint32_t{1};
    auto load = load_for(1, error);
    for (auto more = 2U; more <= bloom_shape::max_words; ++more) {
        const auto fits = load_for(more, error);
        if (fits * words > load * more) {
            words = more;
            load = fits;
        }
    }
    const auto lines = ceil_div(capacity * parts, load);
    const auto max_lines = (bloom_shape::max_bytes - bloom_shape::head_bytes) / (4 * words);
    const auto blocks = ceil_div(lines, max_lines);
    return {.ttl = ttl,
            .words = words,
            .lines = static_cast<std::uint32_t>(ceil_div(lines, blocks)),
            .blocks = static_cast<std::uint32_t>(blocks),
            .capacity = capacity};
}

bloom_bits bits_of(const bloom_shape& shape, std::string_view id) noexcept {
    // base/bytes.hpp requires little-endian
    return bits_of(shape, std::bit_cast<id_digest>(hash::sha256(id)));
}

bloom_bits bits_of(const bloom_shape& shape, id_digest id) noexcept {
    // The upper 38 bits times fewer than 2^26 lines, which are enough for a thousand million ids.
    const auto all = std::uint64_t{shape.blocks} * shape.lines;
    BOOST_ASSERT(all >= 1 && all <= std::uint64_t{1} << 26U);
    const auto line = ((id.line >> 26U) * all) >> 38U;
    auto bits = bloom_bits{.block = static_cast<std::uint32_t>(line / shape.lines),
                           .line = static_cast<std::uint32_t>(line % shape.lines),
                           .words = {}};
    auto state = id.seed;
    auto random = std::uint64_t{0};
    for (std::uint32_t i = 0; i < shape.words; ++i) {
        random = i % 12 == 0 ? next_random(state) : random >> 5U;
        bits.words[i] = 1U << (random & 31U);
    }
    return bits;
}

bloom_sample sample_of(const bloom_shape& shape) noexcept {
    return {.blocks = std::min(shape.blocks, limits::max_sampled_blocks),
            .lines = std::min(shape.lines, limits::sampled_block_bytes / shape.line_bytes())};
}

/// Each id sets one bit of one line per word of a line: if it is one of n, a bit stays clear with a
/// probability of (1 - 1 / (32 * lines))^n. If all bits are set, half a bit is taken to be clear.
bloom_load load_of(const bloom_shape& shape, std::int64_t set) noexcept {
    // With more ids per line, the Poisson distribution underflows, and nearly all bits are set.
    constexpr auto most = 500.0;
    const auto sample = sample_of(shape);
    const auto bits = double{bits_per_word} * shape.words * sample.blocks * sample.lines;
    const auto fill = static_cast<double>(set) / bits;
    const auto clear = std::max(1 - fill, 0.5 / bits);
    const auto per_line = std::log(clear) / std::log1p(-1.0 / bits_per_word);
    const auto lines = double(shape.blocks) * shape.lines;
    return {.fill = fill,
            .ids = -lines * bits_per_word * std::log(clear),
            .error_rate = per_line < most ? error_of(shape.words, per_line) : 1};
}

std::uint32_t filter_tag(const bloom_shape& shape) noexcept {
    auto made = hash::fnv1a_begin_32;
    const auto add = [&made](std::uint64_t number) {
        for (auto shift = 0U; shift < 64; shift += 8)
            made = hash::fnv1a_32(made, static_cast<std::uint8_t>(number >> shift));
    };
    add(static_cast<std::uint64_t>(shape.ttl));
    add(shape.words);
    add(shape.lines);
    add(shape.blocks);
    return made;
}

} // namespace colimit::core

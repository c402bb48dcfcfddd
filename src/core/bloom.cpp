// SPDX-License-Identifier: BSL-1.0
//
// The size of a filter by its error, and the bits of an id.

#include <core/bloom.hpp>
#include <hash/fnv1a.hpp>

#include <algorithm>
#include <cmath>

namespace colimit::core {
namespace {

constexpr std::uint32_t bits_a_word = 32;

/// Ids a line are counted in these parts, so that how some machine rounds cannot make a filter of
/// another size there.
constexpr std::int64_t parts = 16;
constexpr std::int64_t most_load = 64 * parts;

/// How often an id that was never there has all its bits, where ids fall on lines at random, `load`
/// on average: lines that got many err more often than lines that got few make up for.
[[nodiscard]] double error_of(std::uint32_t words, double load) noexcept {
    auto sum = 0.0;
    auto probable = std::exp(-load); // that a line has got so many (Poisson)
    auto clear = 1.0;                // that a bit is then clear
    for (auto ids = 1; ids < 4 * most_load / parts; ++ids) {
        probable *= load / ids;
        clear *= 1.0 - 1.0 / bits_a_word;
        sum += probable * std::pow(1.0 - clear, words);
    }
    return sum;
}

/// The most ids a line, in parts, that keep the error.
[[nodiscard]] std::int64_t load_for(std::uint32_t words, double error) noexcept {
    auto fits = std::int64_t{0};
    auto fails = most_load;
    while (fails - fits > 1) {
        const auto middle = (fits + fails) / 2;
        const auto load = static_cast<double>(middle) / static_cast<double>(parts);
        (error_of(words, load) <= error ? fits : fails) = middle;
    }
    return fits;
}

[[nodiscard]] std::int64_t divide_up(std::int64_t a, std::int64_t b) noexcept {
    return (a - 1) / b + 1;
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
    const auto error = error_rate / 2 * 0.95;
    auto words = std::uint32_t{1};
    auto load = load_for(1, error);
    for (auto more = 2U; more <= bloom_shape::most_words; ++more) {
        const auto fits = load_for(more, error);
        if (fits * words > load * more) {
            words = more;
            load = fits;
        }
    }
    const auto lines = divide_up(capacity * parts, load);
    const auto most_lines = (bloom_shape::most_bytes - bloom_shape::head_bytes) / (4 * words);
    const auto blocks = divide_up(lines, most_lines);
    return {.ttl = ttl,
            .words = words,
            .lines = static_cast<std::uint32_t>(divide_up(lines, blocks)),
            .blocks = static_cast<std::uint32_t>(blocks)};
}

bloom_mark mark_of(const bloom_shape& shape, id_digest id) noexcept {
    // The upper 38 bits times at most 2^26 lines, which a thousand million ids do not need.
    const auto all = std::uint64_t{shape.blocks} * shape.lines;
    const auto line = ((id.line >> 26U) * all) >> 38U;
    auto mark = bloom_mark{.block = static_cast<std::uint32_t>(line / shape.lines),
                           .line = static_cast<std::uint32_t>(line % shape.lines),
                           .words = {}};
    auto state = id.seed;
    auto random = std::uint64_t{0};
    for (std::uint32_t i = 0; i < shape.words; ++i) {
        random = i % 12 == 0 ? next_random(state) : random >> 5U;
        mark.words[i] = 1U << (random & 31U);
    }
    return mark;
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

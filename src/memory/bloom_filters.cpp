// SPDX-License-Identifier: BSL-1.0
//
// Looks ids up in two generations, the twin of lua/seen.

#include <colimit/limits.hpp>
#include <core/verb_traits.hpp>
#include <memory/bloom_filters.hpp>

#include <boost/assert.hpp>

#include <algorithm>
#include <bit>

namespace colimit::memory {

/// Returns whether the bitmap counts at `generation`. It is the bitmap of generation `own`, or an
/// older one. A bitmap from after `own`, made before the clock was set back, becomes that of `own`.
/// (`head` is the number of its generation plus 1.)
bool bloom_filters::bitmap::open(std::int64_t generation, std::int64_t own) noexcept {
    if (!counts_at(generation))
        return false;
    head = std::min(head, own + 1);
    return true;
}

bool bloom_filters::filter::seen(const core::bloom_shape& s, const core::bloom_bits& bits,
                                 std::int64_t now) {
    const auto generation = now / s.ttl;
    auto& both = blocks[bits.block];
    auto& current = both[static_cast<std::size_t>(generation % 2)];
    auto& other = both[static_cast<std::size_t>((generation + 1) % 2)];
    const auto has_current = current.open(generation, generation);
    // The next generation has the previous one's bitmap, and may exist if the clock was set back.
    if (other.open(generation, generation + 1)) {
        known_until = std::max(known_until, (other.head + 1) * s.ttl);
        if (other.has(s, bits))
            return true;
    }
    if (!has_current) {
        current.head = 0; // and it stays 0 if `assign` throws
        current.words.assign(std::size_t{s.lines} * s.words, 0);
        current.head = generation + 1;
    }
    known_until = std::max(known_until, (generation + 2) * s.ttl);
    if (current.has(s, bits))
        return true;
    const auto line = current.line(s, bits.line);
    for (std::size_t i = 0; i < line.size(); ++i)
        line[i] |= bits.words[i];
    return false;
}

bloom_filters::filter* bloom_filters::find_or_make(const detail::policy_data& p, std::int64_t now) {
    const auto key = name{p.id.low, p.id.high};
    if (const auto found = filters_.find(key); found != filters_.end())
        return &found->second;
    if (filters_.size() >= limits::max_local_filters)
        std::erase_if(filters_, [now](const auto& one) { return one.second.known_until <= now; });
    if (filters_.size() >= limits::max_local_filters)
        return nullptr;
    auto made = filter{};
    made.blocks.resize(p.filter->blocks);
    return &filters_.emplace(key, std::move(made)).first->second;
}

std::optional<bool> bloom_filters::seen(std::string_view id, const detail::policy_data& p,
                                        std::int64_t now) {
    BOOST_ASSERT(p.filter && now >= 0);
    auto* found = find_or_make(p, now);
    if (found == nullptr)
        return std::nullopt;
    return found->seen(*p.filter, core::bits_of(*p.filter, id), now);
}

bool bloom_filters::probably_seen(std::string_view id, const detail::policy_data& p,
                                  std::int64_t now) const noexcept {
    BOOST_ASSERT(p.filter && now >= 0);
    const auto found = filters_.find({p.id.low, p.id.high});
    if (found == filters_.end())
        return false;
    const auto bits = core::bits_of(*p.filter, id);
    const auto knows = [&, generation = now / p.filter->ttl](const bitmap& b) {
        return b.counts_at(generation) && b.has(*p.filter, bits);
    };
    return std::ranges::any_of(found->second.blocks[bits.block], knows);
}

std::array<std::int64_t, 2> bloom_filters::inspect(std::uint32_t block,
                                                   const detail::policy_data& p,
                                                   std::int64_t now) const noexcept {
    const auto& s = *p.filter;
    auto set = std::array<std::int64_t, 2>{};
    const auto found = filters_.find({p.id.low, p.id.high});
    if (found == filters_.end())
        return set;
    const auto generation = now / s.ttl;
    const auto& both = found->second.blocks[block];
    for (const auto age : {0, 1}) {
        const auto& one = both[static_cast<std::size_t>((generation + age) % 2)];
        if (one.counts_at(generation))
            for (std::size_t i = 0; i < std::size_t{core::sample_of(s).lines} * s.words; ++i)
                set[static_cast<std::size_t>(age)] += std::popcount(one.words[i]);
    }
    return set;
}

std::array<std::int64_t, 2> bloom_filters::inspect(const detail::policy_data& p,
                                                   std::int64_t now) const noexcept {
    const auto sample = core::sample_of(*p.filter);
    auto sum = std::array<std::int64_t, 2>{};
    for (std::uint32_t i = 0; i < sample.blocks; ++i) {
        const auto set = inspect(sample.block(*p.filter, i), p, now);
        sum[0] += set[0];
        sum[1] += set[1];
    }
    return sum;
}

std::optional<bool> bloom_filters::decide(detail::verb v, std::string_view id,
                                          const detail::policy_data& p, std::int64_t now) {
    return core::traits_of(v).only_asks ? probably_seen(id, p, now) : seen(id, p, now);
}

} // namespace colimit::memory

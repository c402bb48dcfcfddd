// SPDX-License-Identifier: BSL-1.0
//
// Looks ids up in two generations, the twin of lua/seen.

#include <colimit/limits.hpp>
#include <core/bloom.hpp>
#include <memory/bloom_filters.hpp>

#include <boost/assert.hpp>

#include <algorithm>

namespace colimit::memory {

/// Returns whether the bitmap counts at `generation`. It is the bitmap of generation `own`, or an
/// older one. A bitmap from after `own`, made before the clock was set back, becomes that of `own`.
bool bloom_filters::bitmap::open(std::int64_t generation, std::int64_t own) noexcept {
    if (head == 0 || head < generation) // head is the number of a generation plus 1
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
    // The next generation has the same bitmap as the previous one, and may exist if the clock was
    // set back.
    if (other.open(generation, generation + 1)) {
        known_until = std::max(known_until, (other.head + 1) * s.ttl);
        if (core::has_bits(other.line(s, bits.line), bits))
            return true;
    }
    if (!has_current) {
        current.head = 0; // and it stays 0 if `assign` throws
        current.words.assign(std::size_t{s.lines} * s.words, 0);
        current.head = generation + 1;
    }
    known_until = std::max(known_until, (generation + 2) * s.ttl);
    const auto line = current.line(s, bits.line);
    if (core::has_bits(line, bits))
        return true;
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

} // namespace colimit::memory

// SPDX-License-Identifier: BSL-1.0
//
// The tags in the names of keys, `prefix:{tag}:policy:...`: the only part that a cluster hashes, so
// it decides in which slot a key is, and a batch has keys of one tag on a cluster.
//
// There is a power of two of them, `config::advanced.hash_tags`, and their slots are equally far
// apart: however the masters of a cluster divide the slots into ranges, each has a fair share of
// the tags. Half as many tags are made by joining neighbours, so keys with one tag stay together.
//
// Which tag a key has follows from a hash of its bytes, or of its common tag if it has one. The
// hash has no secret, because every process that shares counters must compute the same: a client
// that may choose a whole key may choose its slot, with a common tag or by trying some 64 keys.
//
// A tag is the first bits of the mixed hash, so half as many tags join neighbours. The default of
// 64 stays the same on one server and on a cluster, so that a service which moves to a cluster
// changes its address only: a batch of 256 concurrent calls has four keys per tag, and up to 16
// masters have at least four tags each. The texts of up to 64 tags have two characters, those of
// more have three, so that each of the 16,384 slots has one. What a client gains by choosing its
// slot is nothing: that costs the node no more than it costs a single server, and limits are per
// key. A common tag is part of the key's bytes, in the form that the key builder writes, so it
// reaches every verb, storage and execution mode without an argument, and two keys share a name
// only if they are equal.

#pragma once

#include <hash/fnv1a.hpp>
#include <redis/protocol/hash_slot.hpp>

#include <boost/assert.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::redis {

/// A key with a common tag begins with this.
inline constexpr std::string_view common_tag_mark = "tag";

/// Returns the part of a key that decides its tag: of `tag=common;...` and `tag#common;...`, which
/// `scoped_key::tagged` writes, `common`; otherwise all of it.
[[nodiscard]] constexpr std::string_view deciding_part(std::string_view key) noexcept {
    constexpr auto size = common_tag_mark.size();
    if (key.size() <= size || !key.starts_with(common_tag_mark))
        return key;
    const auto end = key.find(';');
    const auto is_marked = key[size] == '=' || key[size] == '#';
    if (!is_marked || end == std::string_view::npos)
        return key;
    return key.substr(size + 1, end - size - 1);
}

/// The largest number of shards of keys whose state is packed: hashes of a million fields block the
/// server for a quarter of a second when they expire, and each shard in a batch costs three
/// commands.
inline constexpr std::size_t shard_count = 8;

class key_tags {
  public:
    /// The default of `config::advanced.hash_tags`.
    static constexpr std::size_t usual = 64;

    /// @param count a power of two up to `hash_slot_count`
    explicit key_tags(std::size_t count = usual);

    [[nodiscard]] std::size_t count() const noexcept { return std::size_t{1} << bits_; }

    /// Returns the text of tag number `i`, which is below `count()`. All texts have the same size.
    [[nodiscard]] std::string_view text(std::size_t i) const noexcept {
        BOOST_ASSERT(i < count());
        return {texts_ + i * stride_, size_};
    }
    /// Returns its slot, which is in part `i` of `count()` equal parts of all slots.
    [[nodiscard]] std::uint16_t slot(std::size_t i) const noexcept { return hash_slot(text(i)); }

    /// Returns the number of a key's tag.
    /// @param hash FNV-1a of the key
    [[nodiscard]] std::size_t of(std::string_view key, std::uint64_t hash) const noexcept {
        return key.starts_with(common_tag_mark.front()) ? of_part(key, hash) : at(hash);
    }
    [[nodiscard]] std::size_t of(std::string_view key) const noexcept {
        return of(key, hash::fnv1a_64(key));
    }

    /// Returns the number of shards: a tag for each of them, so that none share a name.
    [[nodiscard]] std::size_t shards() const noexcept { return count() >> shard_shift_; }
    /// Returns the shard of the keys with this tag.
    [[nodiscard]] std::size_t shard_of(std::size_t tag) const noexcept {
        return tag >> shard_shift_;
    }
    /// Returns the number of a shard's tag.
    [[nodiscard]] std::size_t of_shard(std::size_t shard) const noexcept {
        return shard << shard_shift_;
    }

  private:
    /// In FNV-1a the last bytes hardly change the high bits, so they are mixed once more: keys that
    /// differ only at their end must be distributed too.
    [[nodiscard]] std::size_t at(std::uint64_t hash) const noexcept {
        const auto mixed = (hash ^ (hash >> 32U)) * 0x9e3779b97f4a7c15U;
        return static_cast<std::size_t>((mixed >> 1U) >> (63U - bits_));
    }

    /// Returns the number of the tag of a key that may have a common tag.
    [[nodiscard]] std::size_t of_part(std::string_view key, std::uint64_t hash) const noexcept;

    const char* texts_ = nullptr; ///< of tag 0
    std::uint32_t stride_ = 0;    ///< from the text of a tag to that of the next one
    std::uint32_t size_ = 0;
    std::uint32_t bits_;
    std::uint32_t shard_shift_;
};

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// The names of keys in Redis:
//
//   prefix:{tag}:policy:k:bytes          up to 256 bytes, literally
//   prefix:{tag}:policy:h:0123...cdef    longer ones: 128 bits of SHA-256 in hexadecimal
//   prefix:{tag}:policy:lk:bytes         the key's log (or lh)
//   prefix:{tag}:policy:tk:bytes         its log in transactions (or th)
//   prefix:{tag}:policy:r:0123...cdef    the record of a call with an id: the first 128 bits of
//                                        SHA-256 over key and id; if the policy is packed, with the
//                                        tag of the shard
//   prefix:{tag}:policy:w:rule:k:bytes   in transactions: the count of a fixed window (or h)
//   prefix:{tag}:policy:a:rule:k:bytes   the same key, aside for a moment
//   prefix:{tag}:policy:d1a2b3c4dk:bytes the sketch of the rule with that tag (or ...h)
//   prefix:{tag}:policy:sk:bytes         the holders of its slots (or sh)
//   prefix:{tag}:filter:b01a2b3c4dk:17   a block of a Bloom filter (b1: of an odd generation)
//   prefix:{tag}:policy:new              a shard of keys whose state is packed: the hash of this
//   prefix:{tag}:policy:old              generation, and the one before
//
// In a shard a key is a field, k:bytes or h:0123...cdef.
//
// The user's bytes come last, so they cannot be taken for another part: two different (prefix,
// policy, key) never share a name. The tag depends on the key alone (`key_tags.hpp`), so all state
// of one key is on one node, and keys can be batched even on a cluster.

#pragma once

#include <redis/protocol/key_tags.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

/// Appends the name of the key. Returns the position in it at which a family is inserted.
std::size_t append_key(std::string& out, std::string_view prefix, std::string_view policy,
                       std::string_view key, const key_tags& tags = key_tags{});

/// Appends the names of many keys of one policy, which differ only in their tag and their end: with
/// little more than half the instructions of append_key.
class key_names {
  public:
    /// Reserves memory for so many bytes before the key.
    void reserve(std::size_t bytes) { head_.reserve(bytes); }
    /// @param tag the text of any tag; all have its size
    void start(std::string_view prefix, std::string_view policy, std::string_view tag);
    /// @param tag the text of the key's tag
    std::size_t append(std::string& out, std::string_view key, std::string_view tag) const;

  private:
    std::string head_; ///< the name of a short key, up to its bytes, with any tag
    std::size_t tag_at_ = 0;
};

/// Appends the field of a key in its shard.
void append_field(std::string& out, std::string_view key);

/// Returns whether this is the field of the key, and the key is not a long one.
[[nodiscard]] constexpr bool is_field(std::string_view field, std::string_view key) noexcept {
    return field.size() == key.size() + 2 && field.starts_with("k:") && field.ends_with(key);
}

/// Appends the name of a shard's hashes, up to `new` or `old`.
void append_shard(std::string& out, std::string_view prefix, std::string_view policy,
                  std::size_t shard, const key_tags& tags = key_tags{});

/// The families of logs, with a script or with MULTI.
inline constexpr std::string_view log_family = "l";
inline constexpr std::string_view transaction_family = "t";
/// The family of holders of slots.
inline constexpr std::string_view slots_family = "s";
/// The family of records, whose names end with a digest instead of the key.
inline constexpr std::string_view record_family = "r:";
/// The families of a rule's fixed window with MULTI, and of the key that holds it aside: the name
/// of the rule and a colon follow.
inline constexpr std::string_view window_family = "w:";
inline constexpr std::string_view aside_family = "a:";
/// The family of the sketch of the rule with this tag.
[[nodiscard]] std::array<char, 9> sketch_family(std::uint32_t rule_tag) noexcept;

/// Appends a member: its bytes or, if it is long, their digest.
void append_member(std::string& out, std::string_view member);

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// How keys are called in Redis:
//
//   prefix:{tag}:policy:k:bytes          up to 256 bytes, as they are
//   prefix:{tag}:policy:h:0123...cdef    longer ones: 128 bits of SHA-256 in hexadecimal
//   prefix:{tag}:policy:lk:bytes         the key's log (or lh)
//   prefix:{tag}:policy:tk:bytes         its log in transactions (or th)
//   prefix:{tag}:policy:d1a2b3c4dk:bytes the sketch of the rule with that tag (or ...h)
//   prefix:{tag}:filter:b01a2b3c4dk:17   a block of a Bloom filter, see seen.hpp
//   prefix:{tag}:policy:new              a row of keys whose state is packed: the hash of this
//   prefix:{tag}:policy:old              generation, and the one before
//
// In a row a key is a field, k:bytes or h:0123...cdef.
//
// The user's bytes stand last, so no bytes can be taken for another part: two different (prefix,
// policy, key) never share a name. The tag, the only part that a cluster hashes, is one of 64 whose
// slots lie evenly over the 16,384; it depends on the key alone, so all state of one key lives on
// one node, and keys batch together even on a cluster.

#ifndef COLIMIT_REDIS_PROTOCOL_KEY_HPP
#define COLIMIT_REDIS_PROTOCOL_KEY_HPP

#include <hash/fnv1a.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit::redis {

inline constexpr std::size_t tag_count = 64;

/// Tag number i; its hash slot lies in the i-th 64th of all slots.
[[nodiscard]] std::string_view tag(std::size_t i) noexcept;

/// The place of a key among the tags. FNV-1a barely carries a key's last bytes into the high bits,
/// so they are mixed once more: keys that differ at their end only must spread too.
[[nodiscard]] constexpr std::size_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::size_t>(((hash ^ (hash >> 32U)) * 0x9e3779b97f4a7c15U) >> 58U);
}

struct key_parts {
    std::string_view prefix;
    std::string_view policy;
    std::string_view key;
    std::uint64_t hash = 0; ///< hash::fnv1a_64 of the key
};

/// Appends the name under which the key is kept. Answers where in it the family of other keys that
/// belong to it is inserted.
std::size_t append_key(std::string& out, const key_parts& parts);

/// The same for many keys of one policy, whose names differ in their tag and their end only: at
/// little more than half the instructions.
class key_names {
  public:
    /// Memory for so many bytes before a key's own.
    void reserve(std::size_t bytes) { head_.reserve(bytes); }
    void start(std::string_view prefix, std::string_view policy);
    std::size_t append(std::string& out, std::string_view key, std::uint64_t hash) const;

  private:
    std::string head_; ///< of a key that is not long, up to its bytes, with any tag
    std::size_t tag_at_ = 0;
};

/// Rows of keys whose state is packed: hashes of a million fields stop the server for a quarter of
/// a second when they expire, and each row of a batch costs it three commands.
inline constexpr std::size_t row_count = 8;

/// The row of a key.
[[nodiscard]] constexpr std::size_t row_of(std::uint64_t hash) noexcept {
    return tag_of(hash) / (tag_count / row_count);
}

/// Appends what a key is called in its row.
void append_field(std::string& out, std::string_view key);

/// Whether that is what a key is called, and the key is not a long one.
[[nodiscard]] constexpr bool is_field(std::string_view field, std::string_view key) noexcept {
    return field.size() == key.size() + 2 && field.starts_with("k:") && field.ends_with(key);
}

/// Appends what the hashes of a row are called, up to `new` or `old`.
void append_row(std::string& out, std::string_view prefix, std::string_view policy,
                std::size_t row);

/// What is inserted for a log, by script or by MULTI, and for the sketch of the rule with this tag.
inline constexpr std::string_view log_family = "l";
inline constexpr char transaction_family = 't';
[[nodiscard]] std::array<char, 9> sketch_family(std::uint32_t rule_tag) noexcept;

/// What stands for a member: its bytes or, where there are many, their digest.
void append_member(std::string& out, std::string_view member);

} // namespace colimit::redis

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Names of keys.

#include <base/bytes.hpp>
#include <colimit/limits.hpp>
#include <hash/sha256.hpp>
#include <redis/protocol/key.hpp>

#include <algorithm>

namespace colimit::redis {
namespace {

/// For i from 0 to 63 the tag of two characters whose slot, CRC-16/XMODEM modulo 16384, is nearest
/// to the middle of [256 i, 256 i + 255]; test/unit/key_test.cpp recomputes them.
constexpr std::array<std::string_view, tag_count> tags{
    "mm", "6q", "9i", "e8", "29", "21", "ap", "ax", "0j", "kv", "dn", "df", "3g", "o6", "gc", "xw",
    "8g", "d6", "lc", "02", "g3", "4c", "on", "4r", "99", "91", "1d", "m5", "fm", "yy", "2i", "iu",
    "7a", "k0", "ce", "8y", "4l", "op", "x9", "x1", "jf", "1z", "zj", "b3", "ik", "2w", "yg", "fs",
    "bk", "9w", "6o", "ms", "af", "an", "5b", "i3", "c5", "dp", "kh", "0t", "xi", "xa", "he", "44"};

/// Appends the part of a name before the user's bytes.
void append_prefix_tag_policy(std::string& out, std::string_view prefix, std::size_t tag_number,
                              std::string_view policy) {
    out.append(prefix).append(":{").append(tag(tag_number)).append("}:").append(policy).append(":");
}

} // namespace

std::string_view tag(std::size_t i) noexcept {
    return tags[i];
}

void append_field(std::string& out, std::string_view key) {
    out.append(key.size() <= limits::plain_key_bytes ? "k:" : "h:");
    append_member(out, key);
}

std::size_t append_key(std::string& out, std::string_view prefix, std::string_view policy,
                       std::string_view key) {
    const auto begin = out.size();
    append_prefix_tag_policy(out, prefix, tag_of(hash::fnv1a_64(key)), policy);
    const auto family_at = out.size() - begin;
    append_field(out, key);
    return family_at;
}

void key_names::start(std::string_view prefix, std::string_view policy) {
    head_.clear();
    append_prefix_tag_policy(head_, prefix, 0, policy);
    append_field(head_, "");
    tag_at_ = prefix.size() + 2;
}

std::size_t key_names::append(std::string& out, std::string_view key, std::uint64_t hash) const {
    const auto begin = out.size();
    const auto family_at = head_.size() - std::string_view{"k:"}.size();
    const auto is_long = key.size() > limits::plain_key_bytes;
    out.append(head_, 0, is_long ? family_at : head_.size());
    const auto own_tag = tag(tag_of(hash));
    own_tag.copy(&out[begin + tag_at_], own_tag.size());
    is_long ? append_field(out, key) : (void)out.append(key);
    return family_at;
}

void append_shard(std::string& out, std::string_view prefix, std::string_view policy,
                  std::size_t shard) {
    append_prefix_tag_policy(out, prefix, shard * (tag_count / shard_count), policy);
}

std::array<char, 9> sketch_family(std::uint32_t rule_tag) noexcept {
    auto family = std::array<char, 9>{'d'};
    std::ranges::copy(detail::hex_of<8>(rule_tag), family.begin() + 1);
    return family;
}

void append_member(std::string& out, std::string_view member) {
    if (member.size() <= limits::plain_key_bytes) {
        out.append(member);
        return;
    }
    const auto hex = hash::sha256_hex(member);
    out.append(hex.data(), hex.size());
}

} // namespace colimit::redis

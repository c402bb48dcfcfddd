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

/// Appends the part of a name before the user's bytes.
void append_prefix_tag_policy(std::string& out, std::string_view prefix, std::string_view tag,
                              std::string_view policy) {
    out.append(prefix).append(":{").append(tag).append("}:").append(policy).append(":");
}

} // namespace

void append_field(std::string& out, std::string_view key) {
    out.append(key.size() <= limits::plain_key_bytes ? "k:" : "h:");
    append_member(out, key);
}

std::size_t append_key(std::string& out, std::string_view prefix, std::string_view policy,
                       std::string_view key, const key_tags& tags) {
    const auto begin = out.size();
    append_prefix_tag_policy(out, prefix, tags.text(tags.of(key)), policy);
    const auto family_at = out.size() - begin;
    append_field(out, key);
    return family_at;
}

void key_names::start(std::string_view prefix, std::string_view policy, std::string_view tag) {
    head_.clear();
    append_prefix_tag_policy(head_, prefix, tag, policy);
    append_field(head_, "");
    tag_at_ = prefix.size() + 2;
}

std::size_t key_names::append(std::string& out, std::string_view key, std::string_view tag) const {
    const auto begin = out.size();
    const auto family_at = head_.size() - std::string_view{"k:"}.size();
    const auto is_long = key.size() > limits::plain_key_bytes;
    out.append(head_, 0, is_long ? family_at : head_.size());
    tag.copy(&out[begin + tag_at_], tag.size());
    is_long ? append_field(out, key) : (void)out.append(key);
    return family_at;
}

void append_shard(std::string& out, std::string_view prefix, std::string_view policy,
                  std::size_t shard, const key_tags& tags) {
    append_prefix_tag_policy(out, prefix, tags.text(tags.of_shard(shard)), policy);
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

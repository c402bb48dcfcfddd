// SPDX-License-Identifier: BSL-1.0
//
// Names of keys.

#include <colimit/limits.hpp>
#include <redis/key.hpp>

// The functions of OpenSSL 1.1: those that replace them allocate for every digest.
#define OPENSSL_API_COMPAT 0x10100000L
#include <openssl/sha.h>

namespace colimit::redis {
namespace {

/// For i from 0 to 63 the tag of two characters whose slot, CRC-16/XMODEM modulo 16384, lies
/// nearest the middle of [256 i, 256 i + 255]; test/unit/key_test.cpp computes them again.
constexpr std::array<std::string_view, tag_count> tags{
    "mm", "6q", "9i", "e8", "29", "21", "ap", "ax", "0j", "kv", "dn", "df", "3g", "o6", "gc", "xw",
    "8g", "d6", "lc", "02", "g3", "4c", "on", "4r", "99", "91", "1d", "m5", "fm", "yy", "2i", "iu",
    "7a", "k0", "ce", "8y", "4l", "op", "x9", "x1", "jf", "1z", "zj", "b3", "ik", "2w", "yg", "fs",
    "bk", "9w", "6o", "ms", "af", "an", "5b", "i3", "c5", "dp", "kh", "0t", "xi", "xa", "he", "44"};

} // namespace

std::array<char, 32> long_key_digest(std::string_view bytes) noexcept {
    auto state = SHA256_CTX{};
    auto digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>{};
    SHA256_Init(&state);
    SHA256_Update(&state, bytes.data(), bytes.size());
    SHA256_Final(digest.data(), &state);
    constexpr std::string_view digits = "0123456789abcdef";
    auto hex = std::array<char, 32>{};
    for (std::size_t i = 0; i < hex.size() / 2; ++i) {
        hex[2 * i] = digits[digest[i] >> 4U];
        hex[2 * i + 1] = digits[digest[i] & 15U];
    }
    return hex;
}

std::string_view tag(std::size_t i) noexcept {
    return tags[i];
}

std::uint64_t key_hash(std::string_view key) noexcept {
    auto hash = std::uint64_t{14695981039346656037U};
    for (const auto c : key)
        hash = (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{1099511628211U};
    return hash;
}

void append_key(std::string& out, const key_parts& parts) {
    out.append(parts.prefix)
        .append(":{")
        .append(tag(tag_of(parts.hash)))
        .append("}:")
        .append(parts.policy);
    if (parts.key.size() <= limits::plain_key_bytes) {
        out.append(":k:").append(parts.key);
        return;
    }
    const auto hex = long_key_digest(parts.key);
    out.append(":h:").append(hex.data(), hex.size());
}

} // namespace colimit::redis

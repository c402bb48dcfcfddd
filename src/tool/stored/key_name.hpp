// SPDX-License-Identifier: BSL-1.0
//
// The names of keys in Redis, read and made: redis/protocol/key.hpp has their forms.

#pragma once

#include <colimit/policy.hpp>
#include <redis/protocol/key_tags.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// What a key of Redis holds.
enum class holding : std::uint8_t {
    value,       ///< the states of a key
    log,         ///< its log
    transaction, ///< its log, in transactions
    window,      ///< a fixed window, in transactions
    holders,     ///< the holders of a concurrent rule
    sketch,      ///< the members of a distinct rule
    bits,        ///< a block of a Bloom filter
    shard,       ///< a hash of packed states
};

/// Returns `value`, `log` and so on, with spaces.
[[nodiscard]] std::string_view to_string(holding h) noexcept;

struct key_name {
    std::string_view policy;
    holding holds = holding::value;
    std::string_view rule;  ///< of a window; empty otherwise
    std::string_view key;   ///< or the digest of a long one; empty for shards
    bool is_digest = false; ///< the key is a long one
};

/// Reads a name; nullopt if it is not one of colimit with this prefix. It has views of `name`.
[[nodiscard]] std::optional<key_name> read_key_name(std::string_view name, std::string_view prefix);

/// A place where the state of a key under a policy may be.
struct place {
    holding holds = holding::value;
    std::string redis_key;
    std::string field; ///< in a shard
};

/// Where the state of a key may be: the places that the policy has, and only these.
/// @param prefix of the limiter
/// @param is_multi for `execution_mode::multi`
[[nodiscard]] std::vector<place> places_of(const colimit::policy& p, std::string_view key,
                                           std::string_view prefix,
                                           const colimit::redis::key_tags& tags, bool is_multi);

/// Returns a pattern of SCAN that matches this text only.
[[nodiscard]] std::string literal_pattern(std::string_view text);

} // namespace tool

// SPDX-License-Identifier: BSL-1.0
//
// The records of the oracle's processes, and the limits. The callers and the checker share nothing
// else; the checker does not depend on the implementation of limits.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::oracle {

enum class kind : std::uint8_t { log, fixed, counter, bucket };

struct limit {
    std::string_view name;
    oracle::kind kind;
    std::int64_t tokens;
    /// Microseconds: of the window, or in which a bucket repays all its tokens.
    std::int64_t period;
};

inline constexpr auto limits = std::array{
    limit{"log", kind::log, 100, 100'000},
    limit{"fixed", kind::fixed, 100, 100'000},
    limit{"counter", kind::counter, 100, 100'000},
    limit{"bucket", kind::bucket, 100, 100'000},
    // A failover takes two seconds: these show whether the new master has the state of the old one.
    limit{"slow_log", kind::log, 1'000, 10'000'000},
    limit{"slow_bucket", kind::bucket, 1'000, 10'000'000},
};

/// Keys under each limit; all processes share them.
inline constexpr std::size_t keys_each = 4;

/// Of keys under limits: `index(limit, key)`.
using key_set = std::bitset<limits.size() * keys_each>;
[[nodiscard]] constexpr std::size_t index(std::size_t limit, std::size_t key) noexcept {
    return limit * keys_each + key;
}

enum class verdict : std::uint8_t {
    granted,
    refused,
    unknown,    ///< may have been charged
    failed,     ///< was not charged
    unfinished, ///< had no result when the process ended
    connected,  ///< no call: a connection is ready
};

/// One call. Files hold them as they lie in memory.
struct record {
    /// In microseconds, the server's; without a decision, when the process knew the result.
    std::int64_t time = 0;
    /// What the store had granted in all under this limit to this key, with this call; -1 unless
    /// the store decided.
    std::int64_t total = -1;
    std::uint16_t granted = 0;
    std::uint8_t limit = 0; ///< place in `limits`
    std::uint8_t key = 0;   ///< below keys_each
    oracle::verdict verdict = oracle::verdict::granted;
    /// 0: the store. Otherwise the process whose own store stood in for it, from 1.
    std::uint8_t process = 0;
    std::uint16_t cost = 0;
};
static_assert(sizeof(record) == 24);

/// One of the calls with a request id.
struct sent_request {
    record what;
    std::uint64_t answer = 0; ///< a hash of the decision
    std::uint32_t id = 0;
};

/// State that was lost. From `begin` to `end` two servers may have granted, each on its own; what
/// one of them granted is forgotten. For a server that was killed both are the time of its end.
struct loss {
    std::int64_t begin;
    std::int64_t end;
    key_set keys = key_set{}.set();
};

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// The limits, and the records of the oracle's processes. The callers and the checker share nothing
// else; the checker does not depend on the implementation of limits.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace colimit::oracle {

/// What the processes call.
enum class mode : std::uint8_t { calls, requests, leases, slots };

enum class kind : std::uint8_t {
    log,
    fixed, ///< at multiples of the period
    counter,
    bucket,
    aligned, ///< a bucket to which all of `refill` returns at multiples of the period
    slots,
};

struct limit {
    std::string_view name;
    oracle::kind kind;
    std::int64_t tokens; ///< or places
    /// Microseconds: of the window, or in which `refill` tokens return to a bucket.
    std::int64_t period = 0;
    std::int64_t refill = 0;
    std::int64_t lease = 0; ///< the length of leases in microseconds
};

inline constexpr auto call_limits = std::array{
    limit{"log", kind::log, 100, 100'000},
    limit{"fixed", kind::fixed, 100, 100'000},
    limit{"counter", kind::counter, 100, 100'000},
    limit{"bucket", kind::bucket, 100, 100'000, 100},
    // A failover takes two seconds: these show whether the new master has the state of the old one.
    limit{"slow_log", kind::log, 1'000, 10'000'000},
    limit{"slow_bucket", kind::bucket, 1'000, 10'000'000, 1'000},
};

inline constexpr auto leased_limits = std::array{
    limit{"bucket", kind::bucket, 500, 500'000, 500, 50'000},
    limit{"slow_bucket", kind::bucket, 2'000, 2'000'000, 2'000, 200'000},
    limit{"aligned", kind::aligned, 400, 100'000, 100, 40'000},
    limit{"fixed", kind::fixed, 300, 300'000, 0, 100'000},
    limit{"counter", kind::counter, 300, 300'000, 0, 100'000},
};

inline constexpr auto slot_limits = std::array{
    limit{.name = "one", .kind = kind::slots, .tokens = 1, .lease = 100'000},
    limit{.name = "two", .kind = kind::slots, .tokens = 2, .lease = 200'000},
    limit{.name = "three", .kind = kind::slots, .tokens = 3, .lease = 400'000},
};
inline constexpr auto longest_lease = slot_limits.back().lease;

[[nodiscard]] constexpr std::span<const limit> limits_of(mode m) noexcept {
    if (m == mode::leases)
        return leased_limits;
    if (m == mode::slots)
        return slot_limits;
    return call_limits;
}
inline constexpr std::size_t most_limits = call_limits.size();

/// Keys under each limit; all processes share them.
inline constexpr std::size_t most_keys = 4;
[[nodiscard]] constexpr std::size_t keys_of(mode m) noexcept {
    return m == mode::leases || m == mode::slots ? 2 : most_keys;
}

/// One of each limit and key.
template<class T>
using of_keys = std::array<std::array<T, most_keys>, most_limits>;
/// Tokens that the server says it has granted, in all its lives.
using totals = of_keys<std::int64_t>;

/// Of keys under limits: `index(limit, key)`.
using key_set = std::bitset<most_limits * most_keys>;
[[nodiscard]] constexpr std::size_t index(std::size_t limit, std::size_t key) noexcept {
    return limit * most_keys + key;
}

/// Returns how many tokens a bucket keeps back for leases.
[[nodiscard]] constexpr std::int64_t reserve_of(const limit& l) noexcept {
    return l.kind == kind::bucket ? (l.refill * l.lease + l.period - 1) / l.period : 0;
}

enum class verdict : std::uint8_t {
    granted,
    refused,
    unknown,    ///< may have been charged
    failed,     ///< was not charged
    unfinished, ///< had no result when the process ended
    connected,  ///< no call: a connection is ready
};

/// One call. All times are in microseconds of the clock that the server and all processes of this
/// machine have.
struct record {
    /// The server's; without a decision, when the process knew the result; for tokens of a lease,
    /// before the call.
    std::int64_t time = 0;
    /// For tokens of a lease, after the call; for a slot, when the process last knew that it was
    /// not lost.
    std::int64_t end = 0;
    /// What the store had granted in all under this limit to this key, with this call; -1 unless
    /// the store decided. For a slot its fencing token.
    std::int64_t total = -1;
    std::uint32_t id = 0;     ///< of the request
    std::uint32_t answer = 0; ///< a hash of the decision on a call with a request id
    std::uint16_t granted = 0;
    std::uint8_t limit = 0; ///< place in `limits_of`
    std::uint8_t key = 0;   ///< below `keys_of`
    oracle::verdict verdict = oracle::verdict::granted;
    /// 0: the store. Otherwise the process whose own store stood in for it, from 1.
    std::uint8_t process = 0;
    std::uint16_t cost = 0;
};
static_assert(sizeof(record) == 40);

/// State that was lost. From `begin` to `end` two servers may have granted, each on its own; what
/// one of them granted is forgotten. For a server that was killed both are the time of its end.
struct loss {
    std::int64_t begin;
    std::int64_t end;
    key_set keys = key_set{}.set();
};

} // namespace colimit::oracle

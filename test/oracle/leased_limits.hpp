// SPDX-License-Identifier: BSL-1.0
//
// What processes with leases have recorded, and the limits. The callers and the checker share
// nothing else.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colimit::oracle {

enum class leased_kind : std::uint8_t {
    bucket,
    aligned, ///< a bucket to which all of `refill` returns at multiples of the period
    fixed,   ///< at multiples of the period
    counter,
};

struct leased_limit {
    std::string_view name;
    leased_kind kind;
    std::int64_t tokens;
    /// Microseconds: of the window, or in which `refill` tokens return.
    std::int64_t period;
    std::int64_t refill;
    /// The length of leases in microseconds.
    std::int64_t lease;
};

inline constexpr auto leased_limits = std::array{
    leased_limit{"bucket", leased_kind::bucket, 500, 500'000, 500, 50'000},
    leased_limit{"slow_bucket", leased_kind::bucket, 2'000, 2'000'000, 2'000, 200'000},
    leased_limit{"aligned", leased_kind::aligned, 400, 100'000, 100, 40'000},
    leased_limit{"fixed", leased_kind::fixed, 300, 300'000, 0, 100'000},
    leased_limit{"counter", leased_kind::counter, 300, 300'000, 0, 100'000},
};

/// Keys under each limit; all processes share them.
inline constexpr std::size_t leased_keys = 2;

/// Tokens that were admitted at some time from `begin` to `end`: for those that the server has
/// granted both are its time, for those of a lease the process knew these times before and after
/// the call. Microseconds of the clock that all processes of this machine have.
struct admission {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t tokens;
};

/// Returns how many tokens a bucket keeps back for leases.
[[nodiscard]] constexpr std::int64_t reserve_of(const leased_limit& l) noexcept {
    return l.kind == leased_kind::bucket ? (l.refill * l.lease + l.period - 1) / l.period : 0;
}

/// The rules of leases, each of which a limiter may leave out.
enum class lease_flaw : std::uint8_t {
    none,
    no_reserve,     ///< buckets keep nothing back
    direct_full,    ///< calls without a lease may use what is kept back
    ignores_grant,  ///< spends as much as it asked for, although it was granted less
    from_arrival,   ///< leases begin when the reply comes, not when the request is sent
    returns_lapsed, ///< the rest of a lease is refunded at its end
    past_end,       ///< leases outlive their window, and the next refill
};

} // namespace colimit::oracle

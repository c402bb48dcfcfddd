// SPDX-License-Identifier: BSL-1.0
//
// The records of the oracle's processes, and the limits. The callers and the checker share nothing
// else; the checker does not depend on the implementation of limits.

#pragma once

#include <array>
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
};

/// Keys under each limit; all processes share them.
inline constexpr std::size_t keys_each = 4;

enum class verdict : std::uint8_t {
    granted,
    refused,
    unknown, ///< may have been charged
    failed,  ///< was not charged
};

/// One call. Files hold them as they lie in memory.
struct record {
    std::int64_t time; ///< the server's, in microseconds; 0 if there was no decision
    std::uint16_t granted;
    std::uint8_t limit; ///< place in `limits`
    std::uint8_t key;   ///< below keys_each
    oracle::verdict verdict;
    /// 0: the store. Otherwise the process whose own store stood in for it, from 1.
    std::uint8_t process;
    std::uint16_t cost;
};
static_assert(sizeof(record) == 16);

} // namespace colimit::oracle

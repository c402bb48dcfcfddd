// SPDX-License-Identifier: BSL-1.0
//
// Judges records by plain arithmetic of its own: no code of the library decides here.

#pragma once

#include "record.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace colimit::oracle {

/// Returns how much the server says it granted, by limit and key, in all its lives.
using totals = std::array<std::array<std::int64_t, keys_each>, limits.size()>;

/// Over-admission of one key under one limit in one store.
struct finding {
    std::size_t limit = 0;
    std::size_t key = 0;
    std::size_t process = 0;       ///< 0: the store
    std::int64_t beyond_limit = 0; ///< tokens
    std::int64_t beyond_count = 0; ///< tokens that the server did not count
    std::int64_t first = 0;        ///< about when, according to the server clock
};

struct judgement {
    std::int64_t checks = 0;
    std::int64_t granted = 0;
    std::int64_t refused = 0;
    std::int64_t unknown = 0;
    std::int64_t failed = 0;
    std::int64_t unfinished = 0;
    std::int64_t over_admitted = 0;     ///< tokens beyond a limit
    std::int64_t double_counted = 0;    ///< tokens that a server charged without a request
    std::vector<finding> findings = {}; ///< over-admission by limit, key and store
};

/// @param losses of state, according to the server clock, ascending: while two servers granted,
///        their grants together may be twice the limit; grants before the end do not count after it
/// @param executed what the server counted; where state was lost, perhaps not all of it
[[nodiscard]] judgement judge(std::vector<record> all, const std::vector<loss>& losses,
                              const totals& executed);

void add(judgement& to, const judgement& more);

} // namespace colimit::oracle

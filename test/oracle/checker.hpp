// SPDX-License-Identifier: BSL-1.0
//
// Judges records by plain arithmetic of its own: no code of the library decides here.
//
// Calls that the store has decided have its time. When a token of a lease was spent is known to
// within the call only, so tokens count for an interval if they were spent in it for sure. A
// process that finds its slot not lost has had it since the grant, as a lost slot is never
// regained. So what is reported is wrong however the calls were timed and the processes halted, and
// a limiter that is right is never blamed.

#pragma once

#include "record.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace colimit::oracle {

/// What is wrong with one key under one limit in one store.
struct finding {
    std::size_t limit = 0;
    std::size_t key = 0;
    std::size_t process = 0;       ///< 0: the store
    std::int64_t beyond_limit = 0; ///< tokens, or grants of slots
    std::int64_t beyond_count = 0; ///< tokens that the server did not count
    std::int64_t first = 0;        ///< about when, according to the server clock
};

struct judgement {
    /// Of the calls; in `mode::requests` of the ids, each taken as one call. Its double-counted
    /// tokens are those of an id that was charged more than once.
    std::int64_t checks = 0;
    std::int64_t granted = 0;
    std::int64_t refused = 0;
    std::int64_t unknown = 0;
    std::int64_t failed = 0;
    std::int64_t unfinished = 0;
    std::int64_t over_admitted = 0;     ///< tokens beyond a limit
    std::int64_t double_counted = 0;    ///< tokens that a server charged without a request
    std::int64_t tokens = 0;            ///< granted
    std::int64_t leased = 0;            ///< grants by leases
    std::int64_t sent = 0;              ///< calls with request ids
    std::int64_t answered = 0;          ///< of them, by the store
    std::int64_t different = 0;         ///< ids with answers that differ
    std::int64_t crowded = 0;           ///< grants of slots beyond the places
    std::int64_t wrong_tokens = 0;      ///< fencing tokens that do not grow
    std::vector<finding> findings = {}; ///< over-admission by limit, key and store

    /// Returns whether nothing is wrong, except that calls may be unfinished.
    [[nodiscard]] bool is_well() const noexcept {
        return over_admitted + double_counted + different + crowded + wrong_tokens == 0;
    }
};

/// @param all of one round
/// @param losses of state, according to the server clock, ascending: while two servers granted,
///        their grants together may be twice the limit; grants before the end do not count after it
/// @param executed what the server counted; where state was lost, perhaps not all of it
[[nodiscard]] judgement judge(mode m, std::vector<record> all, const std::vector<loss>& losses,
                              const totals& executed);

void add(judgement& to, const judgement& more);

// The arithmetic of single keys.

/// Finds what calls of one key under one limit, in order, were granted beyond it.
void add_beyond_limit(const limit& l, std::span<const record> row, const std::vector<loss>& losses,
                      finding& to);

/// Tokens that were admitted at some time from `begin` to `end`.
struct admission {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t tokens;
};
/// Returns by how many tokens, at least, one key was admitted more than its limit: for buckets in
/// the worst of all intervals, for windows in the sum over all of them.
/// @param all of one key; its order is changed
/// @param losses when all state was lost, ascending; each allows one more capacity to intervals
///        that begin at most a lease later
[[nodiscard]] std::int64_t excess(const limit& l, std::span<admission> all,
                                  const std::vector<std::int64_t>& losses);

/// A slot of one key, from the server's time of its grant until the process last knew that it was
/// not lost.
struct holding {
    std::int64_t granted;
    std::int64_t believed;
    std::uint64_t token;
};
/// Returns at how many grants more than `places` believed to have a place.
[[nodiscard]] std::int64_t crowded_grants(std::int64_t places, const std::vector<holding>& all);
/// Returns how many tokens are not larger than those of all earlier grants.
[[nodiscard]] std::int64_t wrong_tokens(std::vector<holding> all);

} // namespace colimit::oracle

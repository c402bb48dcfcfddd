// SPDX-License-Identifier: BSL-1.0
//
// The calls of one process: through the limiter, or with a client written by hand, some of them
// wrong on purpose, so that the checker can be seen to notice.

#pragma once

#include "board.hpp"
#include "record.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

/// The mistakes, which are the names of `--break`.
enum class flaw : std::uint8_t {
    nothing,
    // Of a limiter.
    check_then_record, ///< in two steps
    off_by_one,        ///< `>` for `>=`
    resend,            ///< after a lost reply
    client_clock,      ///< instead of the server's
    // Of a client with leases.
    no_reserve,     ///< buckets keep nothing back
    direct_full,    ///< calls without a lease may use what is kept back
    ignores_grant,  ///< spends as much as it asked for, although it was granted less
    from_arrival,   ///< leases, also of slots, begin when the reply comes
    returns_lapsed, ///< the rest of a lease is refunded at its end
    past_end,       ///< leases outlive their window, and the next refill
    // Of a client with slots.
    check_then_add, ///< in two steps
    never_expires,  ///< the store counts holders whose lease has ended
    ignores_loss,   ///< a slot is never lost
    revives,        ///< a renewal after the end of the lease takes the place again
    keeps_renewing, ///< also after the release, which is not sent
    forgets_token,  ///< tokens start again when all places are free
    // Of what surrounds the library's limiter.
    forget_records, ///< the server forgets request ids
    no_follow,      ///< the limiter stays with the server that it knew first
};

/// The names of the keys.
using key_names = std::array<std::string, most_keys>;
[[nodiscard]] key_names simple_names();

/// What one process is to do.
struct task {
    oracle::mode mode = mode::calls;
    std::optional<oracle::flaw> by_hand = std::nullopt; ///< without it, through the limiter
    std::string server;                                 ///< as config::server
    std::string prefix;                                 ///< of this round's keys
    key_names keys = simple_names();
    /// Without it the process calls until the board says rest. In `mode::requests` the ids of all
    /// processes.
    std::optional<std::int64_t> checks = std::nullopt;
    /// After each call, as failovers take a while.
    bool has_pauses = false;
    /// The process is on the first side of partitions.
    bool is_on_first_side = false;
    int processes = 1; ///< all
    int process = 0;   ///< from 1
    std::uint64_t seed = 0;
    std::uint64_t common_seed = 0; ///< of all processes
    oracle::board* board = nullptr;
    oracle::records* records = nullptr;

    [[nodiscard]] process_board& own() const {
        return board->each[static_cast<std::size_t>(process)];
    }
};

/// All processes go through the ids in the same order, and each makes its own of up to five calls
/// with an id.
inline constexpr int max_sends = 5;

/// Calls until all checks are made or the board says rest, then says that it rests, and lives on
/// until the board says stop.
void call_by_limiter(const task& t);
void call_by_hand(const task& t);
inline void call(const task& t) {
    t.by_hand ? call_by_hand(t) : call_by_limiter(t);
}

/// Returns what the server says it has granted under the prefix of the task.
/// @throws std::exception if it does not answer
[[nodiscard]] totals read_totals_by_limiter(const task& t);
[[nodiscard]] totals read_totals_by_hand(const task& t);

/// Returns how many places of all keys under a limit for slots cannot be acquired.
[[nodiscard]] std::int64_t slots_lost_by_limiter(const task& t, std::size_t limit);
[[nodiscard]] std::int64_t slots_lost_by_hand(const task& t, std::size_t limit);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// The processes that ask: by the limiter, or by commands written by hand, some of them wrong on
// purpose, so that the checker can be seen to notice.

#pragma once

#include "board.hpp"
#include "checker.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace colimit::oracle {

/// The names of the keys.
using key_names = std::array<std::string, keys_each>;
[[nodiscard]] key_names simple_names();

/// Calls with request ids. All processes go through the ids in the same order, and each makes its
/// own of up to five calls with an id.
struct request_plan {
    int processes;
    std::uint64_t seed; ///< one for all processes
};
inline constexpr int max_sends = 5;

/// The calls of one process.
struct task {
    std::string server; ///< as config::server
    std::string prefix; ///< of this round's keys
    std::string file;   ///< for the records
    key_names keys = simple_names();
    std::int64_t checks = 0; ///< without a board; with a plan, ids of all processes
    /// Calls have request ids, and their answers are in the file with `sent_suffix`.
    std::optional<request_plan> requests = std::nullopt;
    /// The process makes calls until it is told to stop there, with a pause after each.
    oracle::board* board = nullptr;
    /// The process is on the first side of partitions.
    bool is_on_first_side = false;
    int process = 0; ///< from 1
    std::uint64_t seed = 0;
};

inline constexpr auto sent_suffix = ".sent";

/// Asks through a limiter, many calls at once, until all checks are made.
void call_by_limiter(const task& t);

/// What the server says it has granted under this prefix.
/// @throws std::exception where it does not answer
[[nodiscard]] totals read_totals(const std::string& server, const std::string& prefix,
                                 const key_names& keys = simple_names());

enum class flaw : std::uint8_t {
    none,
    check_then_record, ///< in two steps
    off_by_one,        ///< `>` for `>=`
    resend,            ///< after a lost reply
    client_clock,      ///< instead of the server's
    no_follow,         ///< the limiter stays with the server that it knew first
};

/// Asks by commands written by hand, one after another. Fixed windows and logs only.
void call_by_hand(const task& t, flaw f);
[[nodiscard]] totals read_totals_by_hand(const std::string& server, const std::string& prefix);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// The processes of one round: how they are started, disturbed and ended, and what they have
// recorded.

#pragma once

#include "board.hpp"
#include "caller.hpp"
#include "checker.hpp"

#include <support/child_process.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace colimit::oracle {

/// What rounds have found.
struct outcome {
    judgement found = {};
    std::int64_t lost = 0;       ///< slots; this is no mistake
    std::int64_t kills = 0;      ///< of processes
    std::int64_t halts = 0;      ///< of processes, for longer than a lease
    std::int64_t looks = 0;      ///< at the sets of holders
    std::int64_t unfinished = 0; ///< calls, or ids without a call
    std::int64_t crowded = 0;    ///< sets of holders
    std::int64_t slots_lost = 0; ///< not free at the end
    std::int64_t late = 0;       ///< calls that wait
    std::int64_t wrong = 0;      ///< statistics of limiters
    std::int64_t failed = 0;     ///< processes

    [[nodiscard]] bool is_well() const noexcept {
        return found.is_well() && unfinished + crowded + slots_lost + late + wrong + failed == 0;
    }
    /// Prints what is common to all modes, with each finding.
    void print(mode m) const;
};

class crew {
  public:
    crew() : board_(make_shared_memory<oracle::board>()) {}

    [[nodiscard]] oracle::board& board() noexcept { return *board_; }
    /// Starts a process. With leases or slots it has a supervisor, which halts and kills it while
    /// it has some, and starts another one in its place.
    void start(task t);

    /// Returns whether a process has ended with an error, or all have.
    [[nodiscard]] bool has_failed();
    /// Returns whether all have made their calls.
    [[nodiscard]] bool rests() const;
    [[nodiscard]] std::int64_t decided() const;
    /// Tells all to make no more calls, and waits until they rest.
    void make_rest();
    /// Ends all that rest, and adds what the board says.
    void end(outcome& to);

    [[nodiscard]] std::vector<record> all_records() const;
    /// @param process from 1
    [[nodiscard]] std::vector<record> records_of(int process) const;

  private:
    [[nodiscard]] bool have_ended();

    shared<oracle::board> board_;
    std::vector<shared<records>> records_;
    std::vector<std::unique_ptr<test::child_process>> running_;
    std::int64_t failed_ = 0;
};

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// The processes that hold slots: through the limiter, or with a client written by hand, some of
// them wrong on purpose, so that the checker can be seen to notice.

#pragma once

#include "board.hpp"
#include "slot_checker.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace colimit::oracle {

/// One slot, which its process keeps up to date while others read it.
class slot_record {
  public:
    // Not initialised, so that it takes memory as it is used.
    slot_record() = default;
    slot_record(std::size_t of, std::size_t name, std::int64_t time, std::uint64_t number) noexcept
        : granted_(time), believed_(time), token_(number), limit(static_cast<std::uint8_t>(of)),
          key(static_cast<std::uint8_t>(name)) {}

    /// The process had the slot at this time.
    void believe(std::int64_t time) noexcept {
        std::atomic_ref{believed_}.store(time, std::memory_order_relaxed);
    }
    [[nodiscard]] holding what() const noexcept {
        const auto until = std::atomic_ref{believed_}.load(std::memory_order_relaxed);
        return {.granted = granted_, .believed = until, .token = token_};
    }

  private:
    std::int64_t granted_;
    mutable std::int64_t believed_; // as std::atomic_ref takes no constants
    std::uint64_t token_;

  public:
    std::uint8_t limit; ///< place in `slot_limits`
    std::uint8_t key;   ///< below slot_keys
};

/// The records of one process and of those that replace it when it is killed: in shared memory, so
/// that a kill loses none.
class slot_records {
  public:
    slot_record& append(const slot_record& r) {
        const auto n = size_.load(std::memory_order_relaxed);
        if (n == all_.size())
            throw std::runtime_error{"too many records"};
        all_[n] = r;
        size_.store(n + 1, std::memory_order_release);
        return all_[n];
    }
    [[nodiscard]] std::span<const slot_record> all() const noexcept {
        return {all_.data(), size_.load(std::memory_order_acquire)};
    }

  private:
    std::atomic<std::size_t> size_ = 0;
    std::array<slot_record, std::size_t{1} << 21U> all_;
};

struct slot_board {
    /// Of the network with faults, which is made when all processes that it must survive are there:
    /// they would keep its port open.
    std::atomic<std::uint16_t> port = 0;
    std::atomic<bool> rest = false; ///< gives back all slots, and asks for no other one
    std::atomic<bool> stop = false;
    std::atomic<std::int64_t> checks = 0; ///< calls of acquire that the store has decided
    std::atomic<std::int64_t> denied = 0;
    std::atomic<std::int64_t> failed = 0; ///< others
    std::atomic<std::int64_t> lost = 0;   ///< slots
    std::atomic<std::int64_t> late = 0;   ///< calls that have not ended by their deadline
    std::atomic<std::int64_t> wrong = 0;  ///< statistics that contradict the calls
    std::atomic<std::int64_t> kills = 0;  ///< of processes that had slots
    std::atomic<std::int64_t> halts = 0;  ///< of such, for longer than a lease
    /// The slots that each process has, and whether it rests.
    std::array<std::atomic<int>, max_processes + 1> held{};
    std::array<std::atomic<bool>, max_processes + 1> rests{};
    slot_flaw flaw = slot_flaw::none;
};

struct slot_task {
    std::string server; ///< as config::server
    std::string prefix; ///< of this round's keys
    slot_board* board = nullptr;
    slot_records* records = nullptr;
    int process = 0; ///< from 1
    std::uint64_t seed = 0;
};

[[nodiscard]] inline std::array<std::string, slot_keys> slot_key_names() {
    auto names = std::array<std::string, slot_keys>{};
    for (std::size_t k = 0; k < slot_keys; ++k)
        names[k] = "key " + std::to_string(k);
    return names;
}

/// Acquires and releases until the board says rest, and then waits until it says stop.
void call_with_slots(const slot_task& t);
/// Returns how many places of all keys cannot be acquired at once.
/// @param since no caller has had a slot since this time of the server
[[nodiscard]] std::int64_t lost_places(const slot_task& t, std::int64_t since);

/// The same by commands written by hand, without the rule that the board names.
void call_with_slots_by_hand(const slot_task& t);
[[nodiscard]] std::int64_t lost_places_by_hand(const slot_task& t, std::int64_t since);

/// Waits until the server's time is one lease of a limit after `since`.
void await_end_of_leases(const std::string& server, const slot_limit& l, std::int64_t since);

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// The processes that call with leases: through the limiter, or with a client written by hand, some
// of them wrong on purpose, so that the checker can be seen to notice.

#pragma once

#include "board.hpp"
#include "leased_limits.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace colimit::oracle {

/// Tokens that were admitted to one key. Denied calls are only counted.
struct lease_record {
    admission what;
    std::uint8_t limit; ///< place in `leased_limits`
    std::uint8_t key;   ///< below leased_keys
};

/// The records of one process and of those that replace it when it is killed: in shared memory, so
/// that a kill loses none. One process writes, and others read when it has ended.
class lease_records {
  public:
    void append(const lease_record& r) {
        const auto n = size_.load(std::memory_order_relaxed);
        if (n == all_.size())
            throw std::runtime_error{"too many records"};
        all_[n] = r;
        size_.store(n + 1, std::memory_order_release);
    }
    [[nodiscard]] std::span<const lease_record> all() const noexcept {
        return {all_.data(), size_.load(std::memory_order_acquire)};
    }

  private:
    std::atomic<std::size_t> size_ = 0;
    // Not initialised, so that it takes memory as it is used.
    std::array<lease_record, std::size_t{1} << 21U> all_;
};

struct lease_board {
    std::atomic<bool> stop = false;
    std::atomic<std::int64_t> checks = 0;
    std::atomic<std::int64_t> failed = 0; ///< calls with an error
    std::atomic<std::int64_t> leased = 0; ///< calls that leases have decided
    std::atomic<std::int64_t> kills = 0;  ///< of processes
    std::atomic<std::int64_t> wrong = 0;  ///< statistics that contradict each other or the records
    lease_flaw flaw = lease_flaw::none;
};

/// Tokens that the server has granted, by limit and key.
using leased_totals = std::array<std::array<std::int64_t, leased_keys>, leased_limits.size()>;

struct lease_task {
    std::string server; ///< as config::server
    std::string prefix; ///< of this round's keys
    lease_board* board = nullptr;
    lease_records* records = nullptr;
    int process = 0; ///< from 1
    std::uint64_t seed = 0;
};

[[nodiscard]] inline std::array<std::string, leased_keys> leased_key_names() {
    auto names = std::array<std::string, leased_keys>{};
    for (std::size_t k = 0; k < leased_keys; ++k)
        names[k] = "key " + std::to_string(k);
    return names;
}

/// Returns in what time a limit that is not called has all its tokens again.
[[nodiscard]] constexpr std::int64_t recovery_of(const leased_limit& l) noexcept {
    return l.kind == leased_kind::aligned ? l.period * l.tokens / l.refill : l.period;
}

/// Returns a random number that is the same in all processes during a slice of time.
[[nodiscard]] inline std::uint64_t slice_of(std::int64_t time, std::size_t limit,
                                            std::int64_t length) {
    // SplitMix64.
    auto x = static_cast<std::uint64_t>(time / length) * 16 + limit + 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30U)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27U)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31U);
}

/// What all processes do to a limit at a time, in cycles: they take leases, wait, spend them and
/// call until they are denied, and let the limit recover. The burst begins just before the leases
/// end, sometimes after that, and sometimes when the limit has recovered.
enum class phase : std::uint8_t { rest, take, burst };

[[nodiscard]] inline phase phase_of(std::int64_t time, std::size_t limit) {
    const auto& l = leased_limits[limit];
    // Windows begin at other times of each cycle.
    const auto cycle = recovery_of(l) + 4 * l.lease + l.lease * 37 / 100;
    const auto draw = slice_of(time, limit, cycle);
    const auto tenths =
        static_cast<std::int64_t>(draw / 4 % 2 == 0 ? 6 + draw / 8 % 4 : 10 + draw / 8 % 8);
    const auto burst = draw % 4 == 0 ? cycle - 2 * l.lease : l.lease * tenths / 10;
    const auto since = time % cycle;
    if (since < l.lease / 3)
        return phase::take;
    return since >= burst && since < burst + l.lease / 3 ? phase::burst : phase::rest;
}

/// Calls through a limiter until the board says stop.
void call_with_leases(const lease_task& t);
[[nodiscard]] leased_totals read_leased_totals(const std::string& server,
                                               const std::string& prefix);

/// The same by commands written by hand, without the rule that the board names.
void call_with_leases_by_hand(const lease_task& t);
[[nodiscard]] leased_totals read_leased_totals_by_hand(const std::string& server,
                                                       const std::string& prefix);

} // namespace colimit::oracle

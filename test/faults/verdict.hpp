// SPDX-License-Identifier: BSL-1.0
//
// What callers may be told in a trial.

#pragma once

#include <faults/trial.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test {

/// Timers are late on a machine that others use too.
inline constexpr auto lateness = std::chrono::milliseconds{1500};

/// What the caller of a call has got, and what the server has done.
struct outcome_of_call {
    int completions = 0;
    error_code ec;
    std::int64_t remaining = 0; ///< of a filter: 0 where the id was new, else 1
    bool allowed = false;
    std::chrono::steady_clock::duration took{};
    std::chrono::milliseconds waited{0}; ///< the same by a `loop_clock`
    std::int64_t executed = 0;           ///< how often the server ran it
};

/// How a trial has ended.
struct trial_end {
    const conversation& said;
    const test::trial& trial;
    std::chrono::microseconds timeout; ///< of calls
    const traffic* struck;             ///< on the connection of the fault; null: there was none
    bool was_breaker_open;             ///< at any time
    std::vector<outcome_of_call> outcomes;
};

/// Returns whether the fault is in a message before those of calls.
[[nodiscard]] bool strikes_handshake(const conversation& c, const trial& t);
/// Returns whether both sides notice the fault at once.
[[nodiscard]] bool ends_connection(const trial& t);

/// Returns which conversation it is about, and where the fault strikes.
[[nodiscard]] std::string describe(const conversation& c, const trial& t);

/// Adds a complaint about a call.
void complain(const trial_end& end, std::size_t call, std::string_view what, findings& to);

/// Judges how the calls of a trial have ended.
void judge(const trial_end& end, findings& to);

} // namespace colimit::test

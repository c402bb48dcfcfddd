// SPDX-License-Identifier: BSL-1.0
//
// What all processes with leases do to a limit at a time. They agree without a word, as they have
// the same clock.

#pragma once

#include "record.hpp"

#include <cstddef>
#include <cstdint>

namespace colimit::oracle {

/// Returns in what time a limit that is not called has all its tokens again.
[[nodiscard]] constexpr std::int64_t recovery_of(const limit& l) noexcept {
    return l.kind == kind::aligned ? l.period * l.tokens / l.refill : l.period;
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

/// They take leases, wait, spend them and call until they are denied, and let the limit recover.
/// The burst begins just before the leases end, sometimes after that, and sometimes when the limit
/// has recovered.
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

/// As `phase_of`, except that sometimes a limit is called all the time.
enum class mood : std::uint8_t { rest, steady, flood };

[[nodiscard]] inline mood mood_of(std::int64_t time, std::size_t limit) {
    const auto draw = slice_of(time, limit, 3 * recovery_of(leased_limits[limit]));
    if (draw % 8 == 0)
        return mood::flood;
    if (draw % 8 == 1)
        return mood::steady;
    return phase_of(time, limit) == phase::rest ? mood::rest : mood::flood;
}

} // namespace colimit::oracle

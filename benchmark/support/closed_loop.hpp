// SPDX-License-Identifier: BSL-1.0
//
// Callers in a closed loop: each is a coroutine that makes a call, waits for the result and
// repeats. A caller times one in eight of its calls, so that the cost of reading the clock is
// small.

#pragma once

#include <support/scenario.hpp>

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

#include <cstdint>

namespace colimit::benchmark {

/// The distribution of keys.
enum class popularity : std::uint8_t {
    uniform, ///< all alike
    zipf,    ///< the k-th in proportion to 1/k
};

struct closed_loop {
    config settings;
    colimit::policy policy;
    std::uint32_t callers = 1;
    std::uint32_t keys = 1;
    popularity drawn = popularity::uniform;
    std::uint32_t time_one_in = 8;
    bool has_ids = false; ///< each call has an id of its own
};

/// All callers on one thread and one limiter.
///
/// Throws if a call fails or is denied, which would measure something else.
[[nodiscard]] measurement run(const closed_loop& loop, const conditions& c);

/// Runs several threads, each with its own limiter and callers.
[[nodiscard]] measurement run_on_threads(unsigned threads, const closed_loop& loop,
                                         const conditions& c);

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// How often a test of random cases repeats, and how much memory it may use.

#pragma once

#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COLIMIT_TEST_SANITIZED
#endif
#endif

namespace colimit::test {

/// Returns `all`, or one of twenty with a sanitizer: that takes several times as long for a round,
/// and the rounds of the other builds find wrong results.
template<class Number>
[[nodiscard]] constexpr Number rounds(Number all) {
#ifdef COLIMIT_TEST_SANITIZED
    return all / 20;
#else
    return all;
#endif
}

/// Returns `bytes`, or four times as many with a sanitizer: that keeps memory which was freed, so
/// that later uses of it are noticed.
[[nodiscard]] constexpr std::int64_t growth_of_memory(std::int64_t bytes) {
#ifdef COLIMIT_TEST_SANITIZED
    return 4 * bytes;
#else
    return bytes;
#endif
}

} // namespace colimit::test

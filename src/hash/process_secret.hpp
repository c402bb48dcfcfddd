// SPDX-License-Identifier: BSL-1.0
//
// The secret with which this process digests keys: for the in-process store, the deny cache and the
// failure modes. They share one secret, so a key is digested once per call.

#pragma once

#include <hash/siphash.hpp>

#include <cstdint>
#include <random>

namespace colimit::hash {

/// @throws std::runtime_error if there is no source of randomness
[[nodiscard]] inline digest draw_secret() {
    auto device = std::random_device{};
    const auto word = [&device] { return (std::uint64_t{device()} << 32U) | device(); };
    const auto low = word();
    return digest{low, word()};
}

/// Generated once, first used by the constructors, so that a failure of the random source is never
/// an error of a call.
[[nodiscard]] inline const digest& process_secret() {
    static const auto drawn = draw_secret();
    return drawn;
}

} // namespace colimit::hash

// SPDX-License-Identifier: BSL-1.0
//
// What stands for a key under a policy wherever this process looks it up: in the store, among the
// denials, and where nothing may be kept of the key itself. One secret serves them all, so that a
// key is digested once a call, or once for many calls where it is prepared.

#ifndef COLIMIT_MEMORY_KEY_DIGEST_HPP
#define COLIMIT_MEMORY_KEY_DIGEST_HPP

#include <memory/siphash.hpp>

#include <cstdint>
#include <random>
#include <string_view>

namespace colimit::memory {

/// Drawn once for this process, and first by the constructors: no call is the one that finds out
/// that nothing can be drawn.
[[nodiscard]] inline const digest& process_secret() {
    static const auto drawn = [] {
        auto device = std::random_device{};
        const auto word = [&device] { return (std::uint64_t{device()} << 32U) | device(); };
        const auto low = word();
        return digest{low, word()};
    }();
    return drawn;
}

/// @param policy its `id`
[[nodiscard]] inline digest key_digest(const digest& policy, std::string_view key) {
    return key_digest(process_secret(), policy, key);
}

} // namespace colimit::memory

#endif

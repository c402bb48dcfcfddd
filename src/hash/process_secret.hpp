// SPDX-License-Identifier: BSL-1.0
//
// The secret under which this process digests keys: in the store, among the denials, and where
// nothing may be kept of the key itself. As one serves them all, a key is digested once per call.

#ifndef COLIMIT_HASH_PROCESS_SECRET_HPP
#define COLIMIT_HASH_PROCESS_SECRET_HPP

#include <hash/siphash.hpp>

#include <cstdint>
#include <random>

namespace colimit::hash {

/// Drawn once, and first by the constructors: no call is the one that finds out that nothing can be
/// drawn.
[[nodiscard]] inline const digest& process_secret() {
    static const auto drawn = [] {
        auto device = std::random_device{};
        const auto word = [&device] { return (std::uint64_t{device()} << 32U) | device(); };
        const auto low = word();
        return digest{low, word()};
    }();
    return drawn;
}

} // namespace colimit::hash

#endif

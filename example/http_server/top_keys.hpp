// SPDX-License-Identifier: BSL-1.0
//
// The keys that are denied most, among any number of keys in a bounded amount of memory: the
// algorithm "space saving" of Metwally, Agrawal and El Abbadi. If all entries are taken, a new key
// replaces the one with the smallest count and continues it; so a key that is denied often stays,
// and clients with ever new keys replace only each other.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace http_server {

class top_keys {
  public:
    using clock = std::chrono::steady_clock;

    static constexpr std::size_t size = 128;          ///< keys that are counted
    static constexpr std::size_t max_bytes = 96;      ///< of a key; the rest is cut off
    static constexpr std::chrono::seconds memory{60}; ///< a key without denials is forgotten

    struct entry {
        std::string policy;
        std::string key;
        std::uint64_t count = 0;
        /// What it continues of the key that it replaced: its denials are `count - surplus` at
        /// least.
        std::uint64_t surplus = 0;
        clock::time_point last{};

        [[nodiscard]] std::uint64_t denials() const noexcept { return count - surplus; }
    };

    /// Counts a denial.
    void add(std::string_view policy, std::string_view key, clock::time_point now);

    /// Returns up to `n` keys, those with the most denials first.
    [[nodiscard]] std::vector<entry> most(std::size_t n, clock::time_point now) const;

  private:
    [[nodiscard]] entry& place_for(std::string_view policy, std::string_view key,
                                   clock::time_point now);

    std::vector<entry> entries_;
};

} // namespace http_server

// SPDX-License-Identifier: BSL-1.0
//
// Random choices, the same everywhere for the same seed (the distributions of the standard library
// are not).

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace colimit::test {

class rng {
  public:
    explicit rng(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::uint64_t bits() { return random_(); }
    /// Returns 0 to n - 1.
    [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
    [[nodiscard]] bool percent(std::size_t p) { return below(100) < p; }
    /// Returns `least` to `most`.
    [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) {
        const auto width = static_cast<std::uint64_t>(most - least) + 1;
        return least + static_cast<std::int64_t>(random_() % width);
    }
    /// Returns 1 to `most`, all magnitudes alike.
    [[nodiscard]] std::int64_t magnitude(std::int64_t most) {
        auto top = most;
        for (auto halvings =
                 below(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(most))));
             halvings > 0; --halvings)
            top /= 2;
        return between(1, top);
    }
    template<class T, std::size_t N>
    [[nodiscard]] T pick(const T (&items)[N]) {
        return items[below(N)];
    }
    template<class T>
    void shuffle(std::vector<T>& items) {
        for (auto i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(i)]);
    }

  private:
    std::mt19937_64 random_;
};

} // namespace colimit::test

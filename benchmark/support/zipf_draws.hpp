// SPDX-License-Identifier: BSL-1.0
//
// Numbers with Zipf's law: the frequency of the k-th most popular of n is proportional to 1/k. They
// are drawn once and then read in order, repeatedly: drawing one costs more than a check in
// process, reading it an addition.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace colimit::benchmark {

class zipf_draws {
  public:
    zipf_draws(std::uint32_t numbers, std::uint64_t seed) {
        auto up_to = std::vector<double>{};
        auto sum = 0.0;
        for (auto k = std::uint32_t{1}; k <= numbers; ++k)
            up_to.push_back(sum += 1.0 / k);
        auto engine = std::mt19937_64{seed};
        auto point = std::uniform_real_distribution<double>{0, sum};
        for (auto& draw : draws_) {
            const auto found = std::ranges::upper_bound(up_to, point(engine));
            draw = static_cast<std::uint32_t>(
                std::min<std::ptrdiff_t>(found - up_to.begin(), numbers - std::ptrdiff_t{1}));
        }
    }

    /// Returns the next number; 0 is the most popular.
    [[nodiscard]] std::uint32_t next() noexcept {
        at_ = (at_ + 1) % count;
        return draws_[at_];
    }

  private:
    static constexpr std::size_t count = std::size_t{1} << 20U;

    std::vector<std::uint32_t> draws_ = std::vector<std::uint32_t>(count);
    std::size_t at_ = 0;
};

} // namespace colimit::benchmark

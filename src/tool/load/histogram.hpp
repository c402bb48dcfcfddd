// SPDX-License-Identifier: BSL-1.0
//
// Latencies in bounded memory: buckets that double in width with each power of two, 32 to a power,
// so that a percentile is known to 3 per cent from nanoseconds to minutes.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tool::load {

class histogram {
  public:
    void add(std::chrono::nanoseconds latency) noexcept {
        const auto ns = latency.count() < 0 ? 0U : static_cast<std::uint64_t>(latency.count());
        ++counts_[bucket_of(ns)];
        ++size_;
        longest_ = std::max(longest_, ns);
    }

    [[nodiscard]] double max_us() const noexcept { return static_cast<double>(longest_) / 1000; }

    /// Returns the latency that this fraction of all does not exceed, in microseconds.
    [[nodiscard]] double percentile_us(double share) const noexcept {
        const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(size_)));
        auto seen = std::uint64_t{0};
        for (auto i = std::size_t{0}; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen >= rank && seen != 0)
                return middle_of(i) / 1000;
        }
        return 0;
    }

  private:
    static constexpr unsigned bits = 5;
    static constexpr std::size_t per_power = std::size_t{1} << bits;

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < per_power)
            return static_cast<std::size_t>(ns);
        const auto shift = static_cast<unsigned>(std::bit_width(ns)) - bits - 1;
        return per_power * shift + static_cast<std::size_t>(ns >> shift);
    }

    [[nodiscard]] static double middle_of(std::size_t bucket) noexcept {
        if (bucket < 2 * per_power)
            return static_cast<double>(bucket);
        const auto shift = static_cast<int>(bucket / per_power) - 1;
        const auto mantissa = static_cast<double>(bucket % per_power + per_power);
        return std::ldexp(mantissa + 0.5, shift);
    }

    std::array<std::uint64_t, (64 - bits + 1) * per_power> counts_{};
    std::uint64_t size_ = 0;
    std::uint64_t longest_ = 0;
};

} // namespace tool::load

// SPDX-License-Identifier: BSL-1.0
//
// Netflix's Gradient2: the limit follows the ratio of the long-term latency to that of the last
// window.
//
//     gradient = clamp(tolerance * long / short, 0.5, 1)
//     limit    = (1 - smoothing) * limit + smoothing * (limit * gradient + queue_size)
//
// Its source is named at `adaptive_algorithm::gradient2`.

#pragma once

#include <adaptive/sample.hpp>
#include <colimit/adaptive_limit.hpp>

#include <cstdint>

namespace colimit::adaptive {

class gradient2 {
  public:
    /// The options are valid.
    explicit gradient2(const gradient2_options& options) noexcept
        : options_(options), estimate_(static_cast<double>(options.initial_limit)) {}

    void add(const sample& s) noexcept;
    /// Returns the whole calls of the estimate.
    [[nodiscard]] std::int64_t limit() const noexcept {
        return static_cast<std::int64_t>(estimate_);
    }

  private:
    struct window {
        std::int64_t count = 0;
        nanoseconds sum{};
        nanoseconds shortest = max_latency;
        std::int64_t max_in_flight = 0;
    };
    /// An exponential average that begins as the plain average of the first ten values.
    class long_average {
      public:
        double add(double value, std::int64_t window) noexcept;
        void reduce() noexcept { value_ *= 0.95; }

      private:
        double value_ = 0;
        double first_sum_ = 0;
        int first_count_ = 0;
    };

    void update(const window& w) noexcept;

    gradient2_options options_;
    double estimate_;
    long_average long_latency_;
    window window_;
    /// The first call after this ends the window. So the very first one ends a window of one call,
    /// which is too few.
    nanoseconds next_update_ = nanoseconds::min();
};

} // namespace colimit::adaptive

// SPDX-License-Identifier: BSL-1.0
//
// brpc's automatic concurrency limiter: Little's law with the largest throughput and the smallest
// latency that were measured, each as an average of such windows.
//
//     limit = max_throughput * min_latency * (1 + explore)
//
// Its source is named at `adaptive_algorithm::brpc`. Latencies are nanoseconds here and not
// rounded, except where the limit is made a whole number.

#pragma once

#include <adaptive/sample.hpp>
#include <colimit/adaptive_limit.hpp>

#include <cstdint>
#include <optional>

namespace colimit::adaptive {

class brpc {
  public:
    /// The options are valid. @param seed of random times, not 0
    brpc(const brpc_options& options, std::uint64_t seed) noexcept
        : options_(options), limit_(options.initial_limit), explore_(options.max_explore),
          random_(seed) {}

    void add(const sample& s) noexcept;
    [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }

  private:
    struct window {
        nanoseconds start{};
        std::int64_t succeeded = 0;     ///< samples
        std::int64_t failed = 0;        ///< samples
        std::int64_t all_succeeded = 0; ///< calls
        nanoseconds succeeded_sum{};
        nanoseconds failed_sum{};
    };

    [[nodiscard]] nanoseconds next_remeasurement(nanoseconds now) noexcept;
    [[nodiscard]] bool try_end_window(nanoseconds now) noexcept;
    [[nodiscard]] double average_latency() const noexcept;
    void add_to_window(const sample& s) noexcept;
    void update(nanoseconds now) noexcept;
    void set_limit(double next) noexcept;

    brpc_options options_;
    std::int64_t limit_;
    double explore_;
    double min_latency_ = 0;    ///< ns; 0: not measured yet
    double max_throughput_ = 0; ///< calls per ns
    std::optional<nanoseconds> last_sample_;
    nanoseconds remeasure_at_{};
    /// While the limit is low for a measurement, samples before this time still come from the load.
    std::optional<nanoseconds> drained_at_;
    window window_;
    std::uint64_t random_;
};

} // namespace colimit::adaptive

// SPDX-License-Identifier: BSL-1.0
//
// Which calls are samples, windows of them, and the update of the limit at the end of each.

#include <adaptive/brpc.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace colimit::adaptive {
namespace {

/// Returns the weighted average of a new and an old value.
[[nodiscard]] double average(double value, double weight, double old) noexcept {
    return value * weight + old * (1 - weight);
}

} // namespace

nanoseconds brpc::next_remeasurement(nanoseconds now) noexcept {
    random_ ^= random_ << 13U; // xorshift64
    random_ ^= random_ >> 7U;
    random_ ^= random_ << 17U;
    const nanoseconds half = nanoseconds{options_.remeasure_interval} / 2;
    return now + half +
           nanoseconds{
               static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(half.count()))};
}

void brpc::add(const sample& s) noexcept {
    window_.all_succeeded += s.has_failed ? 0 : 1;
    if (!last_sample_) {
        remeasure_at_ = next_remeasurement(s.end);
        window_.start = s.end;
    } else if (s.end - *last_sample_ < options_.sampling_interval) {
        return;
    }
    last_sample_ = s.end;
    if (drained_at_) {
        if (s.end < *drained_at_)
            return;
        drained_at_.reset();
        min_latency_ = 0;
        remeasure_at_ = next_remeasurement(s.end);
        window_ = {.start = s.end};
    }
    add_to_window(s);
    if (!try_end_window(s.end))
        return;
    if (window_.succeeded > 0)
        update(s.end);
    else
        set_limit(std::floor(static_cast<double>(limit_) / 2));
    window_ = {.start = s.end};
}

void brpc::add_to_window(const sample& s) noexcept {
    if (!s.has_failed) {
        ++window_.succeeded;
        add_to(window_.succeeded_sum, s.latency);
    } else if (options_.count_failures) {
        ++window_.failed;
        add_to(window_.failed_sum, s.latency);
    }
}

bool brpc::try_end_window(nanoseconds now) noexcept {
    const auto samples = window_.succeeded + window_.failed;
    const auto is_over = now - window_.start >= options_.window;
    if (samples < options_.min_samples) {
        if (is_over)
            window_ = {.start = now};
        return false;
    }
    return is_over || samples >= options_.max_samples;
}

double brpc::average_latency() const noexcept {
    const auto succeeded = static_cast<double>(window_.succeeded);
    const auto failed = static_cast<double>(window_.failed);
    const auto failure_rate = failed / (succeeded + failed);
    const auto counted =
        std::max(failure_rate - options_.failure_threshold, 0.0) / (1 - options_.failure_threshold);
    auto penalty = static_cast<double>(window_.failed_sum.count()) * options_.failure_weight;
    if (options_.failure_threshold > 0)
        penalty *= counted;
    const auto sum = static_cast<double>(window_.succeeded_sum.count()) + penalty;
    // Failures may add more than can be converted to a time.
    return std::min(sum / succeeded, static_cast<double>(max_latency.count()));
}

void brpc::update(nanoseconds now) noexcept {
    const auto latency = average_latency();
    const auto elapsed = std::max(now - window_.start, nanoseconds{1});
    const auto throughput =
        static_cast<double>(window_.all_succeeded) / static_cast<double>(elapsed.count());
    if (min_latency_ == 0)
        min_latency_ = latency;
    else if (latency < min_latency_)
        min_latency_ = average(latency, options_.smoothing, min_latency_);
    max_throughput_ = throughput >= max_throughput_
                          ? throughput
                          : average(throughput, options_.smoothing / 10, max_throughput_);

    if (remeasure_at_ <= now) {
        drained_at_ = now + 2 * nanoseconds{static_cast<std::int64_t>(latency)};
        set_limit(std::ceil(max_throughput_ * min_latency_ * options_.remeasure_ratio));
        return;
    }
    const auto has_no_queue =
        latency <= min_latency_ * (1 + options_.min_explore * options_.latency_tolerance) ||
        throughput <= max_throughput_ / (1 + options_.min_explore);
    explore_ = has_no_queue ? std::min(options_.max_explore, explore_ + options_.explore_step)
                            : std::max(options_.min_explore, explore_ - options_.explore_step);
    set_limit(std::floor(max_throughput_ * min_latency_ * (1 + explore_)));
}

void brpc::set_limit(double next) noexcept {
    limit_ = static_cast<std::int64_t>(std::clamp(next, static_cast<double>(options_.min_limit),
                                                  static_cast<double>(options_.max_limit)));
}

} // namespace colimit::adaptive

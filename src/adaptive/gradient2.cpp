// SPDX-License-Identifier: BSL-1.0
//
// Windows of calls, and the update of the limit at the end of each.

#include <adaptive/gradient2.hpp>

#include <algorithm>

namespace colimit::adaptive {
namespace {

constexpr int warm_up = 10; // values
/// If the long-term latency is more than this many times that of a window, the load has ended, and
/// the former is reduced sooner than by averaging.
constexpr double recovered = 2;

} // namespace

double gradient2::long_average::add(double value, std::int64_t window) noexcept {
    if (first_count_ < warm_up) {
        first_sum_ += value;
        value_ = first_sum_ / ++first_count_;
    } else {
        const auto weight = 2.0 / (static_cast<double>(window) + 1);
        value_ = value_ * (1 - weight) + value * weight;
    }
    return value_;
}

void gradient2::add(const sample& s) noexcept {
    if (s.latency < options_.min_latency)
        return;
    ++window_.count;
    add_to(window_.sum, s.latency);
    window_.shortest = std::min(window_.shortest, s.latency);
    window_.max_in_flight = std::max(window_.max_in_flight, s.in_flight);
    if (s.end <= next_update_)
        return;
    next_update_ = s.end + std::clamp<nanoseconds>(2 * window_.shortest, options_.min_window,
                                                   options_.max_window);
    if (window_.count >= options_.min_samples)
        update(window_);
    window_ = {};
}

void gradient2::update(const window& w) noexcept {
    // Not 0, by which the long-term latency is divided.
    const auto average = std::max<std::int64_t>(w.sum.count() / w.count, 1);
    const auto short_latency = static_cast<double>(average);
    const auto long_latency = long_latency_.add(short_latency, options_.long_window);
    if (long_latency / short_latency > recovered)
        long_latency_.reduce();
    if (static_cast<double>(w.max_in_flight) < estimate_ / 2)
        return; // The load, not the limit, determines how many calls there are.
    const auto gradient = std::clamp(options_.tolerance * long_latency / short_latency, 0.5, 1.0);
    const auto target = estimate_ * gradient + static_cast<double>(options_.queue_size);
    const auto smoothed = estimate_ * (1 - options_.smoothing) + target * options_.smoothing;
    estimate_ = std::clamp(smoothed, static_cast<double>(options_.min_limit),
                           static_cast<double>(options_.max_limit));
}

} // namespace colimit::adaptive

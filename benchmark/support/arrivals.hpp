// SPDX-License-Identifier: BSL-1.0
//
// An open loop: calls begin when they are due, whether or not earlier ones are complete, like those
// of independent users. The gaps between them are exponential. A latency that counts from when a
// call was due includes each stall in full.
//
// The thread does not sleep between calls: what the system's timers add would be in the latencies.
// So the processor time of such a run says nothing.

#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <utility>

namespace colimit::benchmark {

/// @tparam Start `void(steady_clock::time_point due)`, begins one call
template<class Start>
class arrivals {
  public:
    arrivals(boost::asio::io_context& context, double per_s, Start start)
        : context_(context), gap_ns_(per_s / 1e9), start_(std::move(start)) {}

    /// Starts the calls, while the context runs.
    void begin(std::uint64_t calls) {
        left_ = calls;
        due_ = clock::now();
        boost::asio::post(context_, [this] { start_what_is_due(); });
    }

  private:
    using clock = std::chrono::steady_clock;

    /// Through the context's queue, so that it polls the socket in between.
    void start_what_is_due() {
        const auto now = clock::now();
        for (; due_ <= now && left_ != 0; --left_) {
            start_(due_);
            due_ += std::chrono::nanoseconds{static_cast<std::int64_t>(gap_ns_(random_))};
        }
        if (left_ != 0)
            boost::asio::post(context_, [this] { start_what_is_due(); });
    }

    boost::asio::io_context& context_;
    std::mt19937_64 random_{1};
    std::exponential_distribution<double> gap_ns_;
    Start start_;
    std::uint64_t left_ = 0;
    clock::time_point due_;
};

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// Stops a context after some time. Asio's own run_for reads the clock before each handler; this
// costs one timer, which is started before anything is measured.

#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>

namespace colimit::benchmark {

class time_limit {
  public:
    time_limit(boost::asio::io_context& context, double seconds)
        : timer_(context, std::chrono::duration_cast<clock::duration>(
                              std::chrono::duration<double>{seconds})) {
        timer_.async_wait([&context](const auto& /*error*/) { context.stop(); });
        context.restart();
    }

  private:
    using clock = std::chrono::steady_clock;
    boost::asio::steady_timer timer_;
};

} // namespace colimit::benchmark

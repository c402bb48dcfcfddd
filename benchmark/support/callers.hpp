// SPDX-License-Identifier: BSL-1.0
//
// One limiter on one thread with the callers of a closed loop, in runs: a number of checks, or
// checks for a time. Between two runs calls stay in flight.

#pragma once

#include <support/closed_loop.hpp>
#include <support/histogram.hpp>
#include <support/random_key.hpp>

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

namespace colimit::benchmark {

class callers {
  public:
    /// @param first_seed of the callers' keys; each takes one
    explicit callers(const closed_loop& loop, std::uint64_t first_seed = 0);

    /// Each throws the error of a failed call.
    void call(std::uint64_t checks);
    /// @param begin is called when all is ready, just before the time starts
    void call_for(double seconds, const std::function<void()>& begin);

    /// Waits until the calls are complete and the callers have ended. The next run starts new ones.
    void end();
    /// Resets keys through the limiter, which also clears its cached denials; after `end`.
    void reset_keys();
    /// Sets the policy from the next run on; after `end`.
    void ask_about(const policy& p);

    [[nodiscard]] std::uint64_t checks() const noexcept { return checks_; }
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
    [[nodiscard]] colimit::statistics statistics() const { return limiter_.statistics(); }
    /// Throws if a call was denied.
    void must_not_be_refused() const;

    histogram latencies;

  private:
    boost::asio::awaitable<void> call_again_and_again(std::uint64_t seed);
    boost::asio::awaitable<void> reset_each_key();
    void start();
    void run();

    closed_loop loop_;
    std::uint64_t first_seed_;
    std::optional<zipf_draws> drawn_;
    boost::asio::io_context context_{1};
    limiter limiter_;
    std::uint64_t checks_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t stop_at_ = 0; ///< checks; 0: the context stops for another reason
    std::uint32_t at_work_ = 0; ///< callers that have not ended
    bool ending_ = false;
    std::exception_ptr failure_;
};

} // namespace colimit::benchmark

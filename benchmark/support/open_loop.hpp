// SPDX-License-Identifier: BSL-1.0
//
// What the questions about a load share: a load, a warm-up, and the measured stretch, which ends
// when the last call that was due in it has its answer.

#ifndef COLIMIT_BENCHMARK_SUPPORT_OPEN_LOOP_HPP
#define COLIMIT_BENCHMARK_SUPPORT_OPEN_LOOP_HPP

#include <support/arrivals.hpp>
#include <support/histogram.hpp>
#include <support/meter.hpp>
#include <support/question.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

namespace colimit::benchmark {

/// Calls that were due and those that have their answers.
class open_loop {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    open_loop(const conditions& c, double share) : conditions_(c), per_s_(c.most_per_s * share) {}

    boost::asio::io_context context{1};

    /// Of the call that was due then.
    void answered(time_point due) {
        latencies_.add(std::chrono::steady_clock::now() - due);
        if (++answered_ == stop_at_)
            context.stop();
    }
    void failed(std::exception_ptr why) {
        failure_ = std::move(why);
        context.stop();
    }

    /// @param start begins the call that was due at its argument
    template<class Start>
    [[nodiscard]] measurement run(Start start) {
        // As many at once as no stall will leave waiting, so that none makes memory be taken.
        auto at_once = arrivals<Start>{context, 1e15, start};
        take(at_once, 65'536);
        auto coming = arrivals<Start>{context, per_s_, start};
        take(coming, conditions_.warm_up / 3);
        latencies_ = {};
        const auto calls = static_cast<std::uint64_t>(per_s_ * conditions_.seconds) + 1;
        const auto spent = meter{conditions_.socket};
        take(coming, calls);
        auto m = spent.read(calls);
        m.client_us_per_check.reset(); // the thread never sleeps
        m.load_per_s = per_s_;
        add_percentiles(m, latencies_);
        return m;
    }

  private:
    template<class Arrivals>
    void take(Arrivals& coming, std::uint64_t calls) {
        stop_at_ = answered_ + calls;
        coming.begin(calls);
        context.restart();
        context.run();
        if (failure_)
            std::rethrow_exception(failure_);
    }

    const conditions& conditions_;
    double per_s_;
    histogram latencies_;
    std::uint64_t answered_ = 0;
    std::uint64_t stop_at_ = 0;
    std::exception_ptr failure_;
};

} // namespace colimit::benchmark

#endif

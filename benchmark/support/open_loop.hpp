// SPDX-License-Identifier: BSL-1.0
//
// Shared by the scenarios under load: a load, a warm-up, and the measured run, which ends when the
// last call that was due in it is complete.

#pragma once

#include <support/arrivals.hpp>
#include <support/histogram.hpp>
#include <support/meter.hpp>
#include <support/scenario.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace colimit::benchmark {

/// Counts calls that were due and that are complete.
class open_loop {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    open_loop(const conditions& c, double share, key_table table)
        : conditions_(c), per_s_(c.most_per_s * share), table_(table) {}

    boost::asio::io_context context{1};

    /// Records the completion of the call that was due then.
    void answered(time_point due) {
        latencies_.add(std::chrono::steady_clock::now() - due);
        if (++answered_ == stop_at_)
            go_on_();
    }
    void failed(std::exception_ptr why) {
        failure_ = std::move(why);
        context.stop();
    }

    /// @param start begins the call that was due at its argument
    template<class Start>
    [[nodiscard]] measurement run(Start start) {
        auto at_once = arrivals<Start>{context, 1e15, start};
        auto coming = arrivals<Start>{context, per_s_, start};
        const auto calls = static_cast<std::uint64_t>(per_s_ * conditions_.seconds) + 1;
        auto spent = std::optional<meter>{};
        auto m = measurement{};
        auto stretch = 0;
        // All in one run of the context: when it returns, Asio frees the memory that it caches.
        go_on_ = [&] {
            switch (++stretch) {
            case 1: // as many at once as no stall will delay, so that no allocation follows
                return take(at_once, 65'536);
            case 2:
                // The table doubles with the 65,537th key, at call 106,000 in the mean, and takes
                // no longer than twice as many.
                return take(at_once, table_ == key_table::grown ? 3 * 65'536 : 1);
            case 3:
                return take(coming, table_ == key_table::grown ? conditions_.warm_up / 3 : 10'000);
            case 4:
                latencies_ = {};
                spent.emplace(conditions_.socket);
                return take(coming, calls);
            default:
                m = spent->read(calls);
                context.stop();
            }
        };
        go_on_();
        context.run();
        if (failure_)
            std::rethrow_exception(failure_);
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
    }

    const conditions& conditions_;
    double per_s_;
    key_table table_;
    histogram latencies_;
    std::uint64_t answered_ = 0;
    std::uint64_t stop_at_ = 0;
    std::function<void()> go_on_;
    std::exception_ptr failure_;
};

} // namespace colimit::benchmark

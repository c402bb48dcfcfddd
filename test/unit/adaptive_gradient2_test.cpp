// SPDX-License-Identifier: BSL-1.0
//
// Gradient2 against sequences that are computed by hand from the formulas of its source, and
// against a reference that shares no code with it, on random windows.

#include <adaptive/gradient2.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(adaptive_gradient2)

namespace {

using namespace std::chrono_literals;
using colimit::gradient2_options;
using colimit::adaptive::gradient2;
using colimit::adaptive::nanoseconds;

[[nodiscard]] gradient2_options low_minimum() {
    gradient2_options o;
    o.min_limit = 1;
    return o;
}

/// Windows of a second, after the one that the first call ends.
class driver {
  public:
    explicit driver(const gradient2_options& o) : tested_(o) {
        tested_.add({.end = end_, .latency = 1ms, .in_flight = 1});
    }

    /// Adds the calls of one window, and returns the new limit.
    std::int64_t window(const std::vector<nanoseconds>& latencies, std::int64_t in_flight) {
        end_ += 1s; // the last moment of the window
        for (std::size_t i = 0; i + 1 < latencies.size(); ++i)
            tested_.add({.end = end_, .latency = latencies[i], .in_flight = in_flight});
        ++end_;
        tested_.add({.end = end_, .latency = latencies.back(), .in_flight = 1});
        return tested_.limit();
    }
    std::int64_t window(nanoseconds latency, std::int64_t in_flight, std::size_t calls = 10) {
        return window(std::vector<nanoseconds>(calls, latency), in_flight);
    }

  private:
    gradient2 tested_;
    nanoseconds end_ = 1h;
};

/// The estimate as the source defines it, from the average latency of each window.
class reference {
  public:
    explicit reference(const gradient2_options& o) : o_(o), estimate_(o.initial_limit) {}

    long double update(long double latency, std::int64_t in_flight) {
        ++windows_;
        if (windows_ <= 10) {
            first_.push_back(latency);
            long_ = std::accumulate(first_.begin(), first_.end(), 0.0L) / first_.size();
        } else {
            long_ += (latency - long_) * 2 / (o_.long_window + 1);
        }
        const auto used = long_;
        if (used > 2 * latency)
            long_ -= long_ / 20;
        if (in_flight * 2 >= estimate_) {
            auto gradient = o_.tolerance * used / latency;
            gradient = gradient > 1 ? 1 : gradient < 0.5L ? 0.5L : gradient;
            // (1 - s) L + s (L g + q) = L + s (L (g - 1) + q)
            estimate_ += o_.smoothing * (estimate_ * (gradient - 1) + o_.queue_size);
            estimate_ = std::min<long double>(estimate_, o_.max_limit);
            estimate_ = std::max<long double>(estimate_, o_.min_limit);
        }
        return estimate_;
    }

  private:
    gradient2_options o_;
    long double estimate_;
    long double long_ = 0;
    int windows_ = 0;
    std::vector<long double> first_;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_limit_follows_the_ratio_of_long_and_short_latency) {
    driver d{low_minimum()};
    // long 100: gradient 1; 0.8 * 20 + 0.2 * (20 + 4) = 20.8, then 21.6
    BOOST_TEST(d.window(100ms, 20) == 20);
    BOOST_TEST(d.window(100ms, 20) == 21);
    // long 200: gradient 1.5 * 200 / 400 = 0.75; 0.8 * 21.6 + 0.2 * (16.2 + 4) = 21.32
    BOOST_TEST(d.window(400ms, 20) == 21);
    // long 650: 1.5 * 650 / 2000 is below 0.5; 0.8 * 21.32 + 0.2 * (10.66 + 4) = 19.988
    BOOST_TEST(d.window(2000ms, 20) == 19);
    // 9 calls are fewer than 19.988 / 2: no change, but the long latency becomes 540 * 0.95
    BOOST_TEST(d.window(100ms, 9) == 19);
    // gradient 1; 0.8 * 19.988 + 0.2 * 23.988 = 20.788
    BOOST_TEST(d.window(100ms, 20) == 20);
}

BOOST_AUTO_TEST_CASE(
    a_queue_shrinks_the_limit_to_the_minimum_and_its_end_lets_it_grow_to_the_maximum) {
    auto o = low_minimum();
    o.min_limit = 10;
    o.max_limit = 22;
    driver d{o};
    for (int i = 0; i < 9; ++i)
        d.window(10ms, 30);
    for (int i = 0; i < 60; ++i)
        d.window(1s, 30);
    BOOST_TEST(d.window(1s, 30) == 10);
    for (int i = 0; i < 200; ++i)
        d.window(10ms, 30);
    BOOST_TEST(d.window(10ms, 30) == 22);
}

BOOST_AUTO_TEST_CASE(windows_with_few_calls_and_short_calls_change_nothing) {
    driver few{low_minimum()};
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(few.window(100ms, 20, 9) == 20);
    BOOST_TEST(few.window(100ms, 20) == 20);
    BOOST_TEST(few.window(100ms, 20) == 21);
    driver brief{low_minimum()};
    driver longer{low_minimum()};
    for (int i = 0; i < 10; ++i) {
        BOOST_TEST(brief.window(99us, 20) == 20);
        longer.window(100us, 20);
    }
    BOOST_TEST(longer.window(100us, 20) > 20);
}

BOOST_AUTO_TEST_CASE(a_window_is_twice_the_smallest_latency_long) {
    auto o = low_minimum();
    o.max_window = 10s;
    gradient2 tested{o};
    nanoseconds end = 1h;
    const auto add = [&](nanoseconds latency) {
        tested.add({.end = end, .latency = latency, .in_flight = 20});
    };
    add(2s); // 4 s until the next update
    for (int i = 0; i < 40; ++i, end += 100ms)
        add(3s); // the last of them at 3.9 s
    BOOST_TEST(tested.limit() == 20);
    end += 1ns;
    add(3s);
    add(3s);
    end += 6s; // at 6 s after the update the window has not ended
    add(3s);
    end += 1ns;
    BOOST_TEST(tested.limit() == 20); // 20.8
    for (int i = 0; i < 10; ++i)
        add(3s);
    end += 6s;
    add(3s);
    BOOST_TEST(tested.limit() == 20);
    for (int i = 0; i < 10; ++i)
        add(3s);
    end += 1ns;
    add(3s);
    BOOST_TEST(tested.limit() == 21);
}

BOOST_AUTO_TEST_CASE(random_windows_are_those_of_the_reference) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        colimit::test::rng random{seed};
        const auto below = [&](std::int64_t n) { return random.between(0, n - 1); };
        gradient2_options o;
        o.min_limit = 1 + below(20);
        o.max_limit = o.min_limit + below(500);
        o.initial_limit = o.min_limit + below(o.max_limit - o.min_limit + 1);
        o.smoothing = static_cast<double>(1 + below(10)) / 10;
        o.queue_size = 1 + below(20);
        o.tolerance = 1 + static_cast<double>(below(20)) / 10;
        o.long_window = 1 + below(100);
        driver d{o};
        reference expected{o};
        for (int i = 0; i < 500; ++i) {
            std::vector<nanoseconds> latencies;
            const auto base = nanoseconds{1ms} * (1 + below(i % 100 < 50 ? 20 : 400));
            std::int64_t sum = 0;
            for (auto n = 10 + below(20); n > 0; --n) {
                latencies.push_back(base + nanoseconds{below(1'000'000)});
                sum += latencies.back().count();
            }
            const auto in_flight = 1 + below(600);
            const auto average = sum / static_cast<std::int64_t>(latencies.size());
            const auto found = d.window(latencies, in_flight);
            const auto estimate = expected.update(static_cast<long double>(average), in_flight);
            BOOST_TEST_REQUIRE(found >= static_cast<std::int64_t>(estimate - 1e-6L));
            BOOST_TEST_REQUIRE(found <= static_cast<std::int64_t>(estimate + 1e-6L));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

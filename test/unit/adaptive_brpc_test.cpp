// SPDX-License-Identifier: BSL-1.0
//
// brpc's limiter against sequences that are computed by hand from the formulas of its source, and
// against a reference that shares no code with it, on random calls.

#include <adaptive/brpc.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

BOOST_AUTO_TEST_SUITE(adaptive_brpc)

namespace {

using namespace std::chrono_literals;
using colimit::brpc_options;
using colimit::adaptive::brpc;
using colimit::adaptive::nanoseconds;
using colimit::adaptive::sample;

/// Windows of two calls, each of which is a sample.
[[nodiscard]] brpc_options pairs() {
    brpc_options o;
    o.min_limit = 1;
    o.min_samples = 2;
    o.max_samples = 2;
    o.sampling_interval = 0us;
    o.remeasure_interval = 24h;
    return o;
}

class driver {
  public:
    explicit driver(const brpc_options& o, std::uint64_t seed = 1) : tested_(o, seed) {}

    std::int64_t call(nanoseconds after, nanoseconds latency, bool has_failed = false) {
        now_ += after;
        tested_.add({.end = now_, .latency = latency, .in_flight = 1, .has_failed = has_failed});
        return tested_.limit();
    }
    std::int64_t pair(nanoseconds length, nanoseconds latency) {
        call(length / 2, latency);
        return call(length / 2, latency);
    }

  private:
    brpc tested_;
    nanoseconds now_ = 1h;
};

/// The limit as the source defines it, without measurements of the latency without load. It keeps
/// the calls of a window and computes everything at its end, in microseconds.
class reference {
  public:
    explicit reference(const brpc_options& o)
        : o_(o), estimate_(o.initial_limit), explore_(o.max_explore) {}

    /// Returns the limit before it is rounded down.
    long double add(const sample& s) {
        const auto us = [](nanoseconds t) { return static_cast<long double>(t.count()) / 1000; };
        if (!s.has_failed)
            ++all_succeeded_;
        if (has_begun_ && s.end - last_ < o_.sampling_interval)
            return estimate_;
        if (!has_begun_)
            begin_ = s.end;
        has_begun_ = true;
        last_ = s.end;
        if (!s.has_failed || o_.count_failures)
            window_.push_back(s);
        const auto count = static_cast<std::int64_t>(window_.size());
        const auto is_over = s.end - begin_ >= o_.window;
        if (count < o_.min_samples ? !is_over : !is_over && count < o_.max_samples)
            return estimate_;
        if (count >= o_.min_samples)
            update(us(s.end - begin_), us);
        window_.clear();
        all_succeeded_ = 0;
        begin_ = s.end;
        return estimate_;
    }

  private:
    template<class Us>
    void update(long double elapsed, Us us) {
        long double good = 0;
        long double bad = 0;
        long double failures = 0;
        for (const auto& s : window_) {
            (s.has_failed ? bad : good) += us(s.latency);
            failures += s.has_failed ? 1 : 0;
        }
        const auto successes = static_cast<long double>(window_.size()) - failures;
        if (successes == 0) {
            set(std::floor(std::floor(estimate_ + 1e-9L) / 2));
            return;
        }
        bad *= o_.failure_weight;
        if (o_.failure_threshold > 0) {
            const auto rate = failures / (failures + successes);
            bad *= rate <= o_.failure_threshold
                       ? 0
                       : (rate - o_.failure_threshold) / (1 - o_.failure_threshold);
        }
        const auto latency = (good + bad) / successes;
        const auto qps = 1'000'000.0L * all_succeeded_ / elapsed;
        if (min_ < 0)
            min_ = latency;
        if (latency < min_)
            min_ -= (min_ - latency) * o_.smoothing;
        if (qps >= max_)
            max_ = qps;
        else
            max_ -= (max_ - qps) * o_.smoothing / 10;
        const auto calm = latency <= min_ * (1 + o_.min_explore * o_.latency_tolerance) ||
                          qps * (1 + o_.min_explore) <= max_;
        explore_ += calm ? o_.explore_step : -o_.explore_step;
        explore_ = std::min<long double>(explore_, o_.max_explore);
        explore_ = std::max<long double>(explore_, o_.min_explore);
        set(min_ * max_ / 1'000'000 * (1 + explore_));
    }
    void set(long double next) {
        estimate_ = std::max<long double>(o_.min_limit, std::min<long double>(o_.max_limit, next));
    }

    brpc_options o_;
    long double estimate_;
    long double explore_;
    long double min_ = -1;
    long double max_ = -1;
    std::vector<sample> window_;
    std::int64_t all_succeeded_ = 0;
    bool has_begun_ = false;
    nanoseconds begin_{};
    nanoseconds last_{};
};

} // namespace

BOOST_AUTO_TEST_CASE(the_limit_is_throughput_times_latency_and_some_room) {
    driver d{pairs()};
    BOOST_TEST(d.call(0ns, 10100us) == 40);
    // 2 calls in 1 ms: 2000 per second * 0.0101 s * 1.3 = 26.26
    BOOST_TEST(d.call(1ms, 10100us) == 26);
    // 1000 per second: the largest becomes 1990; fewer calls are no queue: 1990 * 0.0101 * 1.3
    // = 26.1
    BOOST_TEST(d.pair(2ms, 20200us) == 26);
    // 2000 per second with twice the latency: a queue, so the room is 0.28: 20.2 * 1.28 = 25.9
    BOOST_TEST(d.pair(1ms, 20200us) == 25);
    // the smallest latency becomes 0.1 * 5 + 0.9 * 10.1 = 9.59, the room 0.3: 19.18 * 1.3 = 24.9
    BOOST_TEST(d.pair(1ms, 5ms) == 24);
}

BOOST_AUTO_TEST_CASE(the_room_stays_between_its_bounds) {
    driver d{pairs()};
    d.call(0ns, 10100us);
    d.call(1ms, 10100us);
    for (int i = 0; i < 12; ++i) // from 0.3 to 0.06
        d.pair(1ms, 20200us);
    BOOST_TEST(d.pair(1ms, 20200us) == 21); // 20.2 * 1.06 = 21.4
    for (int i = 0; i < 11; ++i)
        d.pair(1ms, 10100us);
    BOOST_TEST(d.pair(1ms, 10100us) == 26);
    BOOST_TEST(d.pair(1ms, 10100us) == 26);
}

BOOST_AUTO_TEST_CASE(failures_add_their_latency_to_that_of_others) {
    auto o = pairs();
    o.smoothing = 1; // the smallest latency is the last one below it
    driver d{o};
    d.call(0ns, 10100us);
    d.call(1ms, 10100us); // 26
    // 1 success in 1 ms, (4 + 4) / 1 = 8 ms: the largest throughput is 0.1 * 1000 + 0.9 * 2000 =
    // 1900
    d.call(500us, 4ms);
    BOOST_TEST(d.call(500us, 4ms, true) == 19); // 1900 * 0.008 * 1.3 = 19.8
    // only failures: half of it
    d.call(500us, 1s, true);
    BOOST_TEST(d.call(500us, 1s, true) == 9);

    o.failure_threshold = 0.25; // of a failure rate of 0.5, a third counts
    driver third{o};
    third.call(0ns, 10100us);
    third.call(1ms, 10100us);
    third.call(500us, 4ms);
    BOOST_TEST(third.call(500us, 4ms, true) == 13); // 1900 * (0.004 + 0.004 / 3) * 1.3 = 13.2

    o.count_failures = false; // so a window is two successes
    driver without{o};
    without.call(0ns, 10100us);
    without.call(500us, 1h, true);
    without.call(500us, 1h, true);
    BOOST_TEST(without.call(0us, 10100us) == 26);
}

BOOST_AUTO_TEST_CASE(the_latency_without_load_is_measured_again) {
    auto o = pairs();
    o.remeasure_interval = 1ms; // 0.5 to 1 ms after the first call
    driver d{o};
    d.call(0ns, 10100us);
    BOOST_TEST(d.call(1ms, 10100us) == 19); // 2000 * 0.0101 * 0.9 = 18.2, rounded up
    // for 20.2 ms calls are those of the former load
    BOOST_TEST(d.call(1ms, 1ms) == 19);
    BOOST_TEST(d.call(19199us, 1ms) == 19);
    d.call(1us, 30300us);
    BOOST_TEST(d.call(1ms, 30300us) == 55); // 2000 * 0.0303 * 0.9 = 54.5
}

BOOST_AUTO_TEST_CASE(measurements_are_between_half_of_their_interval_and_all_of_it) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        auto o = pairs();
        o.remeasure_interval = 1000ms;
        driver d{o, seed};
        d.call(0ns, 10100us);
        d.call(1ms, 10100us);
        auto windows = 1; // of a millisecond; without a queue the limit is 26, measuring 19
        while (d.pair(1ms, 10100us) != 19 && windows <= 1000)
            ++windows;
        BOOST_TEST(windows + 1 >= 500);
        BOOST_TEST(windows + 1 <= 1000);
    }
}

BOOST_AUTO_TEST_CASE(windows_that_are_over_with_few_calls_are_discarded) {
    auto o = pairs();
    o.min_samples = 3;
    o.max_samples = 1000;
    driver d{o};
    d.call(0ns, 10ms);
    d.call(1s, 10ms); // discarded with this call
    d.call(500ms, 10ms);
    d.call(400ms, 10ms);
    BOOST_TEST(d.call(99ms, 10ms) == 40); // 3 calls, but not a second yet
    // 4 calls per second * 0.01 s * 1.3
    BOOST_TEST(d.call(1ms, 10ms) == 1);
}

BOOST_AUTO_TEST_CASE(at_most_one_call_per_interval_is_a_sample_and_all_count_for_the_throughput) {
    auto o = pairs();
    o.sampling_interval = 1000us;
    driver d{o};
    d.call(0ns, 10100us);
    for (int i = 0; i < 8; ++i)
        BOOST_TEST(d.call(100us, 1h) == 40);
    // 10 calls in 1 ms with 10.1 ms each, as the others are not samples
    BOOST_TEST(d.call(200us, 10100us) == 131);
}

BOOST_AUTO_TEST_CASE(a_window_without_length_does_not_spoil_the_throughput_for_good) {
    driver d{pairs()};
    d.call(0ns, 10100us);
    BOOST_TEST(d.call(0ns, 10100us) == 1'000'000); // 2 calls in a nanosecond
    for (int i = 0; i < 2'000; ++i)                // each of which weighs 1 %
        d.pair(1ms, 10100us);
    BOOST_TEST(d.pair(1ms, 10100us) == 26);
}

BOOST_AUTO_TEST_CASE(random_calls_are_those_of_the_reference) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        colimit::test::rng random{seed};
        const auto below = [&](std::int64_t n) { return random.between(0, n - 1); };
        const auto real = [&](std::int64_t steps, double most) {
            return most * static_cast<double>(below(steps + 1)) / static_cast<double>(steps);
        };
        brpc_options o;
        o.min_limit = 1 + below(20);
        o.max_limit = o.min_limit + below(500);
        o.initial_limit = o.min_limit;
        o.window = 1ms * (1 + below(100));
        o.min_samples = 1 + below(20);
        o.max_samples = o.min_samples + below(50);
        o.sampling_interval = 1us * below(300);
        o.remeasure_interval = 24h;
        o.smoothing = 0.01 + real(9, 0.9);
        o.max_explore = 0.1 + real(10, 1);
        o.min_explore = real(10, o.max_explore);
        o.explore_step = real(10, o.max_explore);
        o.latency_tolerance = real(10, 3);
        o.count_failures = below(4) != 0;
        o.failure_weight = real(10, 3);
        o.failure_threshold = real(10, 0.9);
        brpc tested{o, seed};
        reference expected{o};
        nanoseconds now = 1h;
        for (int i = 0; i < 20'000; ++i) {
            now += nanoseconds{below(i % 4000 < 2000 ? 200'000 : 2'000'000)};
            const sample s{.end = now,
                           .latency =
                               nanoseconds{below(i % 3000 < 1500 ? 20'000'000 : 300'000'000)},
                           .in_flight = 1,
                           .has_failed = below(i % 5000 < 1000 ? 1 : 10) == 0};
            tested.add(s);
            const auto limit = expected.add(s);
            BOOST_TEST_REQUIRE(tested.limit() >= static_cast<std::int64_t>(limit * (1 - 1e-9L)));
            BOOST_TEST_REQUIRE(tested.limit() <= static_cast<std::int64_t>(limit * (1 + 1e-9L)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The adaptive limit around its algorithms: permits, times that no clock has, and bad options.

#include <colimit/adaptive_limit.hpp>
#include <colimit/error.hpp>
#include <support/rng.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(adaptive_limits)

namespace {

using namespace colimit;
using namespace std::chrono_literals;
using permit = adaptive_limit::permit;
using time_point = adaptive_limit::time_point;

/// A limit of three that stays.
[[nodiscard]] adaptive_options three() {
    adaptive_options o;
    o.gradient2.initial_limit = o.gradient2.min_limit = o.gradient2.max_limit = 3;
    return o;
}

constexpr time_point start{1h};

/// With brpc, each pair of calls is a window: its limit shows whether and how a call was reported.
[[nodiscard]] adaptive_options pairs() {
    adaptive_options o{.algorithm = adaptive_algorithm::brpc};
    o.brpc.min_limit = 1;
    o.brpc.min_samples = o.brpc.max_samples = 2;
    o.brpc.sampling_interval = 0us;
    o.brpc.remeasure_interval = 24h;
    o.brpc.seed = 1;
    return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(as_many_calls_as_the_limit_are_admitted) {
    adaptive_limit limit{three()};
    BOOST_TEST(limit.limit() == 3);
    std::vector<permit> work;
    for (int i = 0; i < 3; ++i)
        work.push_back(limit.try_acquire());
    for (const auto& w : work)
        BOOST_TEST(static_cast<bool>(w));
    BOOST_TEST(limit.in_flight() == 3);
    auto fourth = limit.try_acquire();
    BOOST_TEST(!fourth);
    fourth.succeeded(); // does nothing
    fourth.ignored();
    fourth.dropped();
    BOOST_TEST(limit.in_flight() == 3);
    work[1].dropped();
    BOOST_TEST(!work[1]);
    BOOST_TEST(limit.in_flight() == 2);
    work[1].succeeded(); // a second report does nothing
    BOOST_TEST(limit.in_flight() == 2);
    fourth = limit.try_acquire();
    BOOST_TEST(static_cast<bool>(fourth));
    work.clear();
    BOOST_TEST(limit.in_flight() == 1);
}

BOOST_AUTO_TEST_CASE(a_permit_that_is_moved_ends_once) {
    adaptive_limit limit{three()};
    auto first = limit.try_acquire();
    auto second = limit.try_acquire();
    auto moved = std::move(first);
    BOOST_TEST(static_cast<bool>(moved));
    BOOST_TEST(limit.in_flight() == 2);
    second = std::move(moved); // ends the call that it held
    BOOST_TEST(limit.in_flight() == 1);
    second.ignored();
    BOOST_TEST(limit.in_flight() == 0);
}

BOOST_AUTO_TEST_CASE(a_permit_may_outlive_its_limit) {
    auto limit = std::make_unique<adaptive_limit>(three());
    auto work = limit->try_acquire();
    limit.reset();
    BOOST_TEST(static_cast<bool>(work));
    work.succeeded();
}

BOOST_AUTO_TEST_CASE(each_way_to_end_reports_what_it_says) {
    adaptive_limit limit{pairs()};
    const auto call = [&](time_point end, auto report) {
        auto work = limit.try_acquire(end - 10100us);
        BOOST_TEST_REQUIRE(static_cast<bool>(work));
        report(work, end);
    };
    const auto succeed = [](permit& w, time_point end) { w.succeeded(end); };
    const auto drop = [](permit& w, time_point end) { w.dropped(end); };
    const auto ignore = [](permit& w, time_point) { w.ignored(); };
    call(start, succeed);
    call(start + 1ms, ignore);
    BOOST_TEST(limit.limit() == 40);
    call(start + 1ms, succeed);
    BOOST_TEST(limit.limit() == 26); // 2000 per second * 0.0101 s * 1.3
    call(start + 2ms, drop);
    call(start + 3ms, drop);
    BOOST_TEST(limit.limit() == 13); // all have failed
}

BOOST_AUTO_TEST_CASE(destruction_is_a_success_unless_an_exception_unwinds_the_stack) {
    auto options = pairs();
    options.brpc.initial_limit = 1'000'000;
    adaptive_limit limit{options};
    {
        const auto first = limit.try_acquire();
    }
    for (int i = 0; i < 10; ++i) {
        try {
            const auto work = limit.try_acquire();
            throw std::runtime_error{"a handler fails"};
        } catch (const std::runtime_error&) {
            BOOST_TEST(limit.in_flight() == 0);
        }
    }
    BOOST_TEST(limit.limit() == 1'000'000);
    {
        const auto second = limit.try_acquire();
    } // ends the window
    BOOST_TEST(limit.limit() < 1'000'000);
}

BOOST_AUTO_TEST_CASE(a_call_within_a_destructor_is_a_success_even_if_an_exception_has_led_there) {
    struct worker {
        adaptive_limit& limit;
        ~worker() { const auto work = limit.try_acquire(); }
    };
    auto options = pairs();
    options.brpc.initial_limit = 1'000'000;
    adaptive_limit limit{options};
    {
        const auto first = limit.try_acquire();
    }
    try {
        const worker last{limit};
        throw std::runtime_error{"a handler fails"};
    } catch (const std::runtime_error&) {
        BOOST_TEST(limit.limit() < 1'000'000); // the second success ended the window
    }
}

BOOST_AUTO_TEST_CASE(no_time_breaks_the_limit) {
    constexpr auto least = time_point::min();
    constexpr auto most = time_point::max();
    const time_point times[] = {least,      least + 1ns, time_point{}, start,
                                start + 1s, start - 1s,  most - 1ns,   most};
    for (const auto algorithm : {adaptive_algorithm::gradient2, adaptive_algorithm::brpc}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            test::rng random{seed};
            adaptive_options o{.algorithm = algorithm};
            o.gradient2.min_latency = 0us;
            o.brpc.sampling_interval = 0us;
            o.brpc.min_samples = 1;
            o.brpc.max_samples = random.between(1, 20);
            o.brpc.remeasure_interval = 1ms;
            o.brpc.failure_weight = 1000;
            o.brpc.min_limit = 20;
            o.brpc.max_limit = 200;
            adaptive_limit limit{o};
            for (int i = 0; i < 10'000; ++i) {
                auto work = limit.try_acquire(random.pick(times));
                BOOST_TEST_REQUIRE(static_cast<bool>(work));
                if (random.percent(30))
                    work.dropped(random.pick(times));
                else
                    work.succeeded(random.pick(times));
                BOOST_TEST_REQUIRE(limit.limit() >= 20);
                BOOST_TEST_REQUIRE(limit.limit() <= 200);
            }
            // Afterwards it works as usual.
            for (int i = 0; i < 1'000; ++i)
                limit.try_acquire(most).succeeded(most);
            BOOST_TEST(limit.in_flight() == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(algorithms_have_names) {
    for (const auto algorithm : {adaptive_algorithm::gradient2, adaptive_algorithm::brpc})
        BOOST_TEST((parse_adaptive_algorithm(to_string(algorithm)) == algorithm));
    BOOST_TEST(to_string(adaptive_algorithm::gradient2) == "gradient2");
    BOOST_TEST(to_string(adaptive_algorithm::brpc) == "brpc");
    BOOST_TEST(to_string(adaptive_algorithm{99}) == "?");
    BOOST_CHECK_EXCEPTION((void)parse_adaptive_algorithm("vegas"), error, [](const error& e) {
        return e.code() == errc::invalid_argument &&
               e.reason() == "adaptive algorithm: unknown name (got 'vegas', expected gradient2 or "
                             "brpc)";
    });
}

BOOST_AUTO_TEST_CASE(each_option_is_checked) {
    constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    constexpr auto gradient2 = adaptive_algorithm::gradient2;
    constexpr auto brpc = adaptive_algorithm::brpc;
    struct bad_input {
        adaptive_algorithm algorithm;
        std::function<void(adaptive_options&)> change;
        std::string problem;
    };
    const bad_input cases[] = {
        {adaptive_algorithm{7}, [](auto&) {},
         "algorithm: not an enumerator (got 7, expected gradient2, brpc)"},
        {gradient2, [](auto& o) { o.gradient2.min_limit = 0; },
         "gradient2.min_limit: out of range (got 0, expected 1 to 1000000)"},
        {gradient2, [](auto& o) { o.gradient2.max_limit = 1'000'001; },
         "gradient2.max_limit: out of range (got 1000001, expected 1 to 1000000)"},
        {gradient2, [](auto& o) { o.gradient2.min_limit = 201; },
         "gradient2.min_limit: out of range (got 201, expected at most max_limit, which is 200)"},
        {gradient2, [](auto& o) { o.gradient2.initial_limit = 19; },
         "gradient2.initial_limit: out of range (got 19, expected 20 to 200)"},
        {gradient2, [](auto& o) { o.gradient2.smoothing = 0; },
         "gradient2.smoothing: out of range (got 0, expected above 0, up to 1)"},
        {gradient2, [](auto& o) { o.gradient2.smoothing = 1.5; },
         "gradient2.smoothing: out of range (got 1.5, expected above 0, up to 1)"},
        {gradient2, [](auto& o) { o.gradient2.smoothing = nan; },
         "gradient2.smoothing: out of range (got nan, expected above 0, up to 1)"},
        {gradient2, [](auto& o) { o.gradient2.queue_size = 0; },
         "gradient2.queue_size: out of range (got 0, expected 1 to 1000000)"},
        {gradient2, [](auto& o) { o.gradient2.tolerance = 0.9; },
         "gradient2.tolerance: out of range (got 0.9, expected 1 to 1000)"},
        {gradient2, [](auto& o) { o.gradient2.tolerance = infinity; },
         "gradient2.tolerance: out of range (got inf, expected 1 to 1000)"},
        {gradient2, [](auto& o) { o.gradient2.long_window = 0; },
         "gradient2.long_window: out of range (got 0, expected 1 to 1000000)"},
        {gradient2, [](auto& o) { o.gradient2.min_window = 99ms; },
         "gradient2.min_window: out of range (got 99 ms, expected 100 ms to 3600000 ms)"},
        {gradient2, [](auto& o) { o.gradient2.max_window = 2h; },
         "gradient2.max_window: out of range (got 7200000 ms, expected 100 ms to 3600000 ms)"},
        {gradient2, [](auto& o) { o.gradient2.min_window = 2s; },
         "gradient2.min_window: out of range (got 2000 ms, expected at most max_window, which is "
         "1000 ms)"},
        {gradient2, [](auto& o) { o.gradient2.min_samples = 9; },
         "gradient2.min_samples: out of range (got 9, expected 10 to 1000000)"},
        {gradient2, [](auto& o) { o.gradient2.min_latency = -1us; },
         "gradient2.min_latency: out of range (got -1 us, expected 0 us to 3600000000 us)"},
        {brpc, [](auto& o) { o.brpc.min_limit = -1; },
         "brpc.min_limit: out of range (got -1, expected 1 to 1000000)"},
        {brpc, [](auto& o) { o.brpc.initial_limit = 8; },
         "brpc.initial_limit: out of range (got 8, expected 9 to 1000000)"},
        {brpc, [](auto& o) { o.brpc.window = 0ms; },
         "brpc.window: out of range (got 0 ms, expected 1 ms to 3600000 ms)"},
        {brpc, [](auto& o) { o.brpc.min_samples = 0; },
         "brpc.min_samples: out of range (got 0, expected 1 to 1000000)"},
        {brpc, [](auto& o) { o.brpc.max_samples = 99; },
         "brpc.min_samples: out of range (got 100, expected at most max_samples, which is 99)"},
        {brpc, [](auto& o) { o.brpc.sampling_interval = 2h; },
         "brpc.sampling_interval: out of range (got 7200000000 us, expected 0 us to 3600000000 "
         "us)"},
        {brpc, [](auto& o) { o.brpc.remeasure_interval = 25h; },
         "brpc.remeasure_interval: out of range (got 90000000 ms, expected 1 ms to 86400000 ms)"},
        {brpc, [](auto& o) { o.brpc.remeasure_ratio = -0.5; },
         "brpc.remeasure_ratio: out of range (got -0.5, expected above 0, up to 1)"},
        {brpc, [](auto& o) { o.brpc.smoothing = nan; },
         "brpc.smoothing: out of range (got nan, expected above 0, up to 1)"},
        {brpc, [](auto& o) { o.brpc.max_explore = infinity; },
         "brpc.max_explore: out of range (got inf, expected 0 to 10)"},
        {brpc, [](auto& o) { o.brpc.min_explore = 0.4; },
         "brpc.min_explore: out of range (got 0.4, expected 0 to 0.3)"},
        {brpc, [](auto& o) { o.brpc.explore_step = 0.31; },
         "brpc.explore_step: out of range (got 0.31, expected 0 to 0.3)"},
        {brpc, [](auto& o) { o.brpc.latency_tolerance = -1; },
         "brpc.latency_tolerance: out of range (got -1, expected 0 to 1000)"},
        {brpc, [](auto& o) { o.brpc.failure_weight = 1e300; },
         "brpc.failure_weight: out of range (got 1e+300, expected 0 to 1000)"},
        {brpc, [](auto& o) { o.brpc.failure_threshold = 1; },
         "brpc.failure_threshold: out of range (got 1, expected 0 to less than 1)"},
    };
    for (const auto& c : cases) {
        adaptive_options o{.algorithm = c.algorithm};
        c.change(o);
        BOOST_CHECK_EXCEPTION(adaptive_limit{o}, error, [&](const error& e) {
            BOOST_TEST(e.reason() == "adaptive_options::" + c.problem);
            return e.code() == errc::invalid_argument;
        });
    }
    // The options of the other algorithm are not used.
    adaptive_options o;
    o.brpc.smoothing = nan;
    BOOST_CHECK_NO_THROW(adaptive_limit{o});
}

BOOST_AUTO_TEST_SUITE_END()

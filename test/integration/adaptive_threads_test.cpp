// SPDX-License-Identifier: BSL-1.0
//
// One adaptive limit and several threads: never more calls at a time than the limit, and each one
// is given back. ThreadSanitizer finds undefined behaviour.

#include <colimit/adaptive_limit.hpp>
#include <support/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(adaptive_threads)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

constexpr int threads = 4;
constexpr int calls = 20'000; // of each thread

template<class Work>
void in_threads(Work work) {
    auto all = std::vector<std::jthread>{};
    for (int i = 0; i < threads; ++i)
        all.emplace_back(work);
}

} // namespace

BOOST_AUTO_TEST_CASE(never_more_calls_than_the_limit) {
    auto options = adaptive_options{};
    options.gradient2.initial_limit = options.gradient2.min_limit = 2;
    options.gradient2.max_limit = 2;
    auto limit = adaptive_limit{options};
    auto inside = std::atomic<int>{0};
    auto most = std::atomic<int>{0};
    auto admitted = std::atomic<int>{0};
    auto denied = std::atomic<int>{0};
    in_threads([&] {
        for (int i = 0; i < calls; ++i) {
            auto work = limit.try_acquire();
            if (!work) {
                ++denied;
                continue;
            }
            ++admitted;
            const auto now_inside = ++inside;
            for (auto seen = most.load(); seen < now_inside;)
                most.compare_exchange_weak(seen, now_inside);
            std::this_thread::yield(); // so that others find the places taken
            --inside;
            if (i % 3 == 0)
                work.ignored();
        }
    });
    BOOST_TEST(most <= 2);
    BOOST_TEST(admitted > 0);
    BOOST_TEST(admitted + denied == threads * calls);
    BOOST_TEST(limit.in_flight() == 0);
}

BOOST_AUTO_TEST_CASE(all_functions_from_all_threads) {
    for (const auto algorithm : {adaptive_algorithm::gradient2, adaptive_algorithm::brpc}) {
        auto options = adaptive_options{.algorithm = algorithm};
        options.brpc.sampling_interval = 0us;
        options.gradient2.min_window = options.gradient2.max_window = 100ms;
        options.gradient2.min_latency = 0us;
        auto limit = adaptive_limit{options};
        auto now = std::atomic<std::int64_t>{0}; // times in the order of one thread only
        in_threads([&] {
            for (int i = 0; i < calls; ++i) {
                const auto time = [&] {
                    return adaptive_limit::time_point{1h + 10us * now.fetch_add(1)};
                };
                auto work = limit.try_acquire(time());
                if (i % 7 == 0)
                    work.dropped(time());
                else
                    work.succeeded(time());
                if (limit.limit() < 1 || limit.in_flight() > threads)
                    std::terminate(); // Boost.Test is not for threads
            }
        });
        BOOST_TEST(limit.in_flight() == 0);
    }
}

BOOST_AUTO_TEST_CASE(permits_outlive_their_limit_in_other_threads) {
    for (int i = 0; i < 200; ++i) {
        auto limit = std::make_unique<adaptive_limit>();
        auto other = std::jthread{[work = limit->try_acquire()]() mutable { work.succeeded(); }};
        const auto here = limit->try_acquire();
        limit.reset();
    }
}

BOOST_AUTO_TEST_SUITE_END()

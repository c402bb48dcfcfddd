// SPDX-License-Identifier: BSL-1.0
//
// The statistics of a limiter: the histogram of latencies, and decisions in process.

#include <colimit/limiter.hpp>
#include <colimit/local_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(statistics_counted)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

[[nodiscard]] std::size_t bucket_of(std::chrono::microseconds time) {
    auto h = latency_histogram{};
    h.add(time);
    auto found = std::size_t{0};
    for (std::size_t i = 0; i < latency_histogram::size; ++i)
        found = h[i] == 0 ? found : i;
    BOOST_TEST(h[found] == 1U);
    return found;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_time_lies_in_the_bucket_that_begins_at_or_before_it) {
    for (std::size_t i = 0; i + 1 < latency_histogram::size; ++i) {
        const auto least = latency_histogram::bucket_lower_bound(i);
        const auto next = latency_histogram::bucket_lower_bound(i + 1);
        BOOST_TEST(bucket_of(least) == i);
        BOOST_TEST(bucket_of(next - 1us) == i);
        BOOST_TEST((next - least).count() <= std::max<std::int64_t>(1, least.count() / 8));
    }
    BOOST_TEST(bucket_of(-5us) == 0U);
    BOOST_TEST(bucket_of(1'000h) == latency_histogram::size - 1);
    BOOST_TEST((latency_histogram::bucket_lower_bound(latency_histogram::size - 1) > 1h));
}

BOOST_AUTO_TEST_CASE(a_quantile_is_at_most_an_eighth_above_what_was_measured) {
    auto h = latency_histogram{};
    BOOST_TEST(h.quantile(0.5).count() == 0);
    for (int i = 1; i <= 1'000; ++i)
        h.add(std::chrono::microseconds{i});
    BOOST_TEST(h.count() == 1'000U);
    BOOST_TEST(h.sum().count() == 500'500);
    BOOST_TEST(h.quantile(0).count() == 1);
    BOOST_TEST(h.quantile(0.5).count() >= 500);
    BOOST_TEST(h.quantile(0.5).count() <= 563);
    BOOST_TEST(h.quantile(0.99).count() >= 990);
    BOOST_TEST(h.quantile(1).count() >= 1'000);
    BOOST_TEST(h.quantile(1).count() <= 1'125);
}

BOOST_AUTO_TEST_CASE(a_local_limiter_counts_what_it_decided) {
    const policy two{"two", gcra(2, 1h).burst(2)};
    const bloom_filter ids{"ids", {.capacity = 100}};
    auto limiter = local_limiter{100};
    for (int i = 0; i < 5; ++i)
        (void)limiter.allow("k", two);
    (void)limiter.allow("k", two, {.cost = 3});
    (void)limiter.seen("an id", ids);
    (void)limiter.seen("an id", ids);
    const auto counted = limiter.statistics();
    BOOST_TEST(counted.allowed == 3U);
    BOOST_TEST(counted.denied == 4U);
    BOOST_TEST(counted.never == 1U);
    BOOST_TEST(counted.states == 1U);
}

BOOST_AUTO_TEST_CASE(every_question_ends_in_one_counter) {
    const policy two{"two", gcra(2, 1h).burst(2)};
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), "memory:"};
    const std::string endless(limits::max_key_bytes + 1, 'k');
    auto checks =
        std::array{check_item{"a", two}, check_item{"b", two}, check_item{"c", two, {.cost = -1}}};
    limiter.allow("k", two, {.cost = 2}, asio::detached);
    limiter.peek("k", two, asio::detached);
    limiter.allow("k", two, {.cost = 3}, asio::detached);
    limiter.allow("k", two, {.cost = -1}, asio::detached);
    limiter.allow(endless, two, asio::detached);
    limiter.once("id", 1h, asio::detached);
    limiter.allow_many(checks, asio::detached);
    limiter.ready(asio::detached);
    BOOST_TEST(limiter.statistics().checks == 9U);
    BOOST_TEST(limiter.statistics().allowed == 0U);
    context.run();
    limiter.close();
    limiter.allow("k", two, asio::detached);
    context.restart();
    context.run();
    const auto counted = limiter.statistics();
    BOOST_TEST(counted.checks == 10U);
    BOOST_TEST(counted.allowed == 4U);
    BOOST_TEST(counted.denied == 1U);
    BOOST_TEST(counted.never == 1U);
    BOOST_TEST(counted.failed == 4U);
    BOOST_TEST(counted.count(errc::invalid_argument) == 2U);
    BOOST_TEST(counted.count(errc::invalid_key) == 1U);
    BOOST_TEST(counted.count(errc::closed) == 1U);
    BOOST_TEST(counted.count(decision_source::store) == 6U);
    BOOST_TEST(counted.cancelled == 0U);
    BOOST_TEST(counted.latency.count() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// When a limiter inspects a filter by itself, in process: after how many calls, and what is
// reported once.

#include <colimit/limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(filter_watches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

/// A limiter that collects the filters of its events. Each of its calls has another id.
struct watched {
    watched() {
        auto c = config{.server = "memory:"};
        c.on_event = [this](const event& e) { filters.push_back(e.filter); };
        l.emplace(context.get_executor(), c);
    }

    /// Makes calls until an event comes, or there are so many; returns their number.
    int calls_until_event(const bloom_filter& f, int most, std::chrono::seconds now = 0s) {
        const auto before = filters.size();
        auto calls = 0;
        while (calls < most && filters.size() == before) {
            l->seen(std::to_string(ids++), f, {.now = time_point{now}},
                    [](error_code ec, bool) { BOOST_TEST(!ec); });
            ++calls;
            context.restart();
            context.run(); // in process nothing else is left when the call and its event are over
        }
        return calls;
    }

    boost::asio::io_context context;
    std::optional<limiter> l;
    std::vector<std::string> filters;
    int ids = 0;
};

[[nodiscard]] bloom_filter small(const std::string& name, std::int64_t capacity = 1) {
    return bloom_filter{name, {.capacity = capacity, .error_rate = 0.01, .ttl = 10s}};
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_filter_is_inspected_after_a_64th_of_its_capacity_or_a_thousand_calls,
                        watched) {
    BOOST_TEST(calls_until_event(small("f"), 2'000) == 1'000);
    BOOST_TEST(filters.back() == "f");
    BOOST_TEST(calls_until_event(small("g"), 2'000) == 1'000); // each has its own count
    BOOST_TEST(filters.back() == "g");
    const auto large = small("large", 128'000);
    BOOST_TEST(calls_until_event(large, 132'000) % 2'000 == 0);
    BOOST_TEST(filters.back() == "large");
}

BOOST_FIXTURE_TEST_CASE(a_filter_that_stays_over_its_capacity_is_reported_once, watched) {
    const auto f = small("f");
    BOOST_TEST(calls_until_event(f, 1'000) == 1'000);
    BOOST_TEST(calls_until_event(f, 2'500) == 2'500);
    // It is empty by then, and inspected when it is over its capacity again.
    BOOST_TEST(calls_until_event(f, 1'500, 100s) == 1'500);
}

BOOST_FIXTURE_TEST_CASE(counts_are_kept_of_a_thousand_filters_and_one_more_forgets_them, watched) {
    const auto f = small("f");
    BOOST_TEST(calls_until_event(f, 999) == 999);
    for (int i = 1; i < 1'000; ++i)
        (void)calls_until_event(small(std::to_string(i)), 1);
    BOOST_TEST(filters.empty());
    (void)calls_until_event(f, 1);
    BOOST_TEST(filters.size() == 1U);
    // It is reported again, as it is not known any more that it was.
    (void)calls_until_event(small("1000"), 1, 100s);
    (void)calls_until_event(f, 1'000, 100s);
    BOOST_TEST(filters.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(after_close_a_filter_is_not_reported, watched) {
    const auto f = small("f");
    BOOST_TEST(calls_until_event(f, 100) == 100);
    auto is_over = false;
    l->filter_status(f, {.now = time_point{}}, [&](error_code ec, const filter_status& found) {
        BOOST_TEST(!ec); // in process it was decided before
        is_over = found.is_over_capacity;
    });
    l->close();
    context.restart();
    context.run();
    BOOST_TEST(is_over);
    BOOST_TEST(filters.empty());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Logs that another program has changed, or of which a part is missing: calls are decided, and
// never more than the limit is granted after that. Long logs are read in parts, so both sizes are
// tried.

#include <core/log_value.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include "stores.hpp"

#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colimit::corrupt_log_test {
namespace {

using namespace colimit::test;
using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t hour = 3'600 * second;

[[nodiscard]] std::int64_t us_at(std::int64_t us) {
    return at(us).time_since_epoch().count();
}

BOOST_AUTO_TEST_SUITE(corrupt_log)

/// A log of `events`, one per millisecond until `at(0)`.
[[nodiscard]] std::vector<core::logged_event> regular(std::int64_t events) {
    auto all = std::vector<core::logged_event>{};
    for (std::int64_t i = 1; i <= events; ++i)
        all.push_back({.t = us_at(0) - 1'000 * (events - i), .sum = i});
    return all;
}

[[nodiscard]] std::string value_of(const std::vector<core::logged_event>& events,
                                   core::log_head head) {
    auto bytes = std::string{};
    core::append_log_head(bytes, head);
    for (const auto& e : events)
        core::append_event(bytes, e);
    return bytes;
}

/// Plants the value; asks until the limit must be reached, and returns how much was granted.
[[nodiscard]] std::int64_t granted_after(open_limiter& s, const policy& p, std::int64_t limit,
                                         const std::string& value) {
    look().must({"SET", log_name_of(p, "k"), value, "PX", "3600000"});
    auto granted = std::int64_t{0};
    for (std::int64_t i = 0; i <= limit + 1; ++i)
        granted += s.allow("k", p, {.now = at(i)}).granted;
    BOOST_TEST(s.allow("k", p, {.now = at(2 * second)}).outcome == outcome::denied);
    BOOST_TEST(look().pttl(log_name_of(p, "k")) > 0);
    return granted;
}

BOOST_DATA_TEST_CASE(a_log_that_was_cut_at_any_byte_is_none, every_redis()) {
    auto s = open_store(sample);
    const auto p = policy{"p", sliding_log(5, 1h)};
    const auto whole = value_of(regular(4), {.longest = hour});
    BOOST_TEST(granted_after(*s, p, 5, whole) == 1);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto left = core::events_in(size);
        BOOST_TEST(granted_after(*s, p, 5, whole.substr(0, size)) == 5 - left, "at " << size);
    }
}

BOOST_DATA_TEST_CASE(no_disorder_of_a_log_grants_more_than_its_limit, every_redis()) {
    auto s = open_store(sample);
    for (const auto size : {20, 1'000}) {
        const auto p = policy{"p", sliding_log(size * 2, 1h)};
        const auto most = std::int64_t{size} * 2;
        auto events = regular(size);
        BOOST_TEST(granted_after(*s, p, most, value_of(events, {.longest = hour})) == most - size);
        std::ranges::reverse(events);
        BOOST_TEST(granted_after(*s, p, most, value_of(events, {.longest = hour})) <= most);
        for (auto& e : events)
            e.t = us_at(0);
        BOOST_TEST(granted_after(*s, p, most, value_of(events, {.longest = hour})) <= most);
        events = regular(size);
        for (auto& e : events)
            e.sum = 7;
        BOOST_TEST(granted_after(*s, p, most, value_of(events, {.longest = hour})) <= most);
        for (std::size_t i = 0; i < events.size(); ++i)
            events[i].t = i % 2 == 0 ? us_at(hour) : 1;
        BOOST_TEST(granted_after(*s, p, most, value_of(events, {.longest = hour})) <= most);
        for (const auto& head :
             {core::log_head{.longest = hour, .before = core::max_log_sum},
              core::log_head{.longest = hour, .first = size - 1},
              core::log_head{.longest = hour, .first = size},
              core::log_head{.expires = 1e300, .longest = hour}, core::log_head{}})
            BOOST_TEST(granted_after(*s, p, most, value_of(regular(size), head)) <= most);
    }
}

BOOST_DATA_TEST_CASE(sums_that_end_begin_anew_and_lose_nothing, every_redis()) {
    auto s = open_store(sample);
    for (const auto size : {20, 1'000}) {
        const auto p = policy{"p", sliding_log(size * 2, 1h)};
        auto events = regular(size);
        const auto before = core::max_log_sum - size;
        for (auto& e : events)
            e.sum += before;
        const auto value = value_of(events, {.longest = hour, .before = before});
        BOOST_TEST(granted_after(*s, p, size * 2, value) == size);
        BOOST_TEST(events_of(look(), p, "k") == std::size_t(size) * 2);
    }
}

BOOST_DATA_TEST_CASE(an_endless_log_is_read_in_parts, every_redis()) {
    auto s = open_store(sample);
    const auto p = policy{"p", sliding_log(100'000, 1h)};
    const auto value = value_of(regular(99'990), {.longest = hour});
    look().must({"SET", log_name_of(p, "k"), value, "PX", "3600000"});
    BOOST_TEST(s->peek("k", p, {.now = at(0)}).remaining == 10);
    BOOST_TEST(s->allow("k", p, {.cost = 10, .now = at(1)}).remaining == 0);
    const auto d = s->allow("k", p, {.now = at(2)});
    BOOST_TEST(d.outcome == outcome::denied);
    BOOST_TEST(d.retry_after.count() == hour - 99'989 * 1'000 - 2);
    BOOST_TEST(s->refund("k", p, {.cost = 1'010, .now = at(2)}).remaining == 1'010);
    BOOST_TEST(s->peek("k", p, {.now = at(hour - 1'000'000'000)}).remaining == 1'010);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace colimit::corrupt_log_test

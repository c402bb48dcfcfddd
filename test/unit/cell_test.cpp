// SPDX-License-Identifier: BSL-1.0
//
// CL.THROTTLE's five numbers, as redis-cell itself and its tests publish them.

#include <colimit/redis_cell.hpp>
#include <support/key_history.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <ostream>

namespace colimit {

static std::ostream& operator<<(std::ostream& out, const cell_reply& r) {
    return out << '{' << r.limited << ", " << r.limit << ", " << r.remaining << ", "
               << r.retry_after << ", " << r.reset_after << '}';
}

} // namespace colimit

BOOST_AUTO_TEST_SUITE(cell_replies)

namespace {

using namespace colimit;
using namespace std::chrono_literals;

constexpr auto start = std::int64_t{1'700'000'000'000'000};

struct row {
    std::chrono::milliseconds time;
    std::int64_t cost;
    cell_reply expected;
};

void run(const rule& r, std::span<const row> rows) {
    auto k = test::key_history{r, start};
    for (const auto& [time, cost, expected] : rows) {
        k.now = start + std::chrono::microseconds{time}.count();
        BOOST_TEST(to_cell_reply(k.allow(cost)) == expected);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(one_in_two_seconds_without_a_burst) {
    constexpr row rows[] = {
        {0ms, 1, {0, 1, 0, -1, 2}}, {0ms, 1, {1, 1, 0, 2, 2}}, {2s, 1, {0, 1, 0, -1, 2}}};
    run(cell(0, 1, 2s), rows);
}

BOOST_AUTO_TEST_CASE(thirty_a_minute_with_a_burst_of_15) {
    constexpr row rows[] = {{0ms, 1, {0, 16, 15, -1, 2}}};
    run(cell(15, 30, 60s), rows);
}

BOOST_AUTO_TEST_CASE(one_a_second_with_a_burst_of_4_rounds_seconds_up) {
    constexpr row rows[] = {
        {0ms, 6, {1, 5, 5, -1, 0}},    {0ms, 1, {0, 5, 4, -1, 1}},    {0ms, 1, {0, 5, 3, -1, 2}},
        {0ms, 1, {0, 5, 2, -1, 3}},    {0ms, 1, {0, 5, 1, -1, 4}},    {0ms, 1, {0, 5, 0, -1, 5}},
        {0ms, 1, {1, 5, 0, 1, 5}},     {3000ms, 1, {0, 5, 2, -1, 3}}, {3100ms, 1, {0, 5, 1, -1, 4}},
        {4000ms, 1, {0, 5, 1, -1, 4}}, {8000ms, 1, {0, 5, 4, -1, 1}}, {9500ms, 1, {0, 5, 4, -1, 1}},
        {9500ms, 0, {0, 5, 4, -1, 1}}, {9500ms, 2, {0, 5, 2, -1, 3}}, {9500ms, 5, {1, 5, 2, 3, 3}},
        {15000ms, 6, {1, 5, 5, -1, 0}}};
    run(cell(4, 1, 1s), rows);
}

BOOST_AUTO_TEST_CASE(a_microsecond_is_a_second_and_none_is_none) {
    auto d = decision{};
    d.retry_after = 1us;
    d.reset_after = 1'000'001us;
    BOOST_TEST(to_cell_reply(d) == (cell_reply{1, 0, 0, 1, 2}));
    d.retry_after = 1s;
    d.reset_after = 0us;
    BOOST_TEST(to_cell_reply(d) == (cell_reply{1, 0, 0, 1, 0}));
}

BOOST_AUTO_TEST_CASE(a_wait_for_ever_is_none) {
    auto d = decision{};
    d.outcome = outcome::never;
    d.retry_after = never_again;
    BOOST_TEST(to_cell_reply(d) == (cell_reply{1, 0, 0, -1, 0}));
}

BOOST_AUTO_TEST_CASE(a_place_that_was_granted_for_later_is_no_refusal) {
    auto d = decision{};
    d.outcome = outcome::allowed;
    d.retry_after = 3s;
    BOOST_TEST(to_cell_reply(d) == (cell_reply{0, 0, 0, -1, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

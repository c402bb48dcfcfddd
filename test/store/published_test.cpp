// SPDX-License-Identifier: BSL-1.0
//
// Published results of other limiters with the same arithmetic: the tuples of redis-cell, Dragonfly
// and redis_rate, exact where they round to seconds. A cost above the limit is never allowed.

#include "stores.hpp"

#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <span>

BOOST_AUTO_TEST_SUITE(published)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

constexpr std::int64_t none = 0;
constexpr std::int64_t never = never_again.count();

struct row {
    std::int64_t time;
    std::int64_t cost;
    bool limited;
    std::int64_t remaining;
    std::int64_t retry;
    std::int64_t reset;
};

void run(open_limiter& s, const policy& p, std::span<const row> rows) {
    for (const auto& r : rows) {
        BOOST_TEST_CONTEXT("cost " << r.cost << " at " << r.time << " us") {
            const auto d = s.allow("k", p, {.cost = r.cost, .now = at(r.time)});
            BOOST_TEST(!d.allowed() == r.limited);
            BOOST_TEST(d.remaining == r.remaining);
            BOOST_TEST(d.retry_after.count() == r.retry);
            BOOST_TEST(d.reset_after.count() == r.reset);
        }
    }
}

BOOST_DATA_TEST_CASE(redis_cell_and_throttled_one_a_second_max_burst_4, every_store()) {
    constexpr row rows[] = {
        {0, 6, true, 5, never, 0},
        {0, 1, false, 4, none, 1'000'000},
        {0, 1, false, 3, none, 2'000'000},
        {0, 1, false, 2, none, 3'000'000},
        {0, 1, false, 1, none, 4'000'000},
        {0, 1, false, 0, none, 5'000'000},
        {0, 1, true, 0, 1'000'000, 5'000'000},
        {3'000'000, 1, false, 2, none, 3'000'000},
        {3'100'000, 1, false, 1, none, 3'900'000},
        {4'000'000, 1, false, 1, none, 4'000'000},
        {8'000'000, 1, false, 4, none, 1'000'000},
        {9'500'000, 1, false, 4, none, 1'000'000},
        {9'500'000, 0, false, 4, none, 1'000'000},
        {9'500'000, 2, false, 2, none, 3'000'000},
        {9'500'000, 5, true, 2, 3'000'000, 3'000'000},
        {15'000'000, 6, true, 5, never, 0},
    };
    run(*open_store(sample), policy{"p", cell(4, 1, 1s)}, rows);
}

BOOST_DATA_TEST_CASE(redis_cell_max_burst_0_one_in_two_seconds, every_store()) {
    constexpr row rows[] = {
        {0, 1, false, 0, none, 2'000'000},
        {0, 1, true, 0, 2'000'000, 2'000'000},
        {2'000'000, 1, false, 0, none, 2'000'000},
    };
    run(*open_store(sample), policy{"p", cell(0, 1, 2s)}, rows);
}

BOOST_DATA_TEST_CASE(dragonfly_half_a_million_a_second, every_store()) {
    constexpr row rows[] = {{0, 2, false, 3, none, 4}};
    run(*open_store(sample), policy{"p", cell(4, 500'000, 1s)}, rows);
}

BOOST_DATA_TEST_CASE(redis_rate_ten_a_second, every_store()) {
    constexpr row rows[] = {
        {0, 1, false, 9, none, 100'000},
        {0, 2, false, 7, none, 300'000},
        {0, 7, false, 0, none, 1'000'000},
        {0, 1000, true, 0, never, 1'000'000},
    };
    run(*open_store(sample), policy{"p", gcra(10, 1s)}, rows);
}

BOOST_DATA_TEST_CASE(three_a_second_is_exact_in_thirds, every_store()) {
    constexpr row rows[] = {
        {0, 3, false, 0, none, 1'000'000},           {1'000'000, 3, false, 0, none, 1'000'000},
        {1'000'000, 1, true, 0, 333'334, 1'000'000}, {1'333'333, 1, true, 0, 1, 666'667},
        {1'333'334, 1, false, 0, none, 1'000'000},
    };
    run(*open_store(sample), policy{"p", gcra(3, 1s)}, rows);
}

} // namespace

BOOST_AUTO_TEST_SUITE_END()

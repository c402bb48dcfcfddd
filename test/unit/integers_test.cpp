// SPDX-License-Identifier: BSL-1.0
//
// Divisions against their definition, on both sides of each multiple.

#include <core/integers.hpp>
#include <support/unit_test.hpp>

#include <cstdint>

BOOST_AUTO_TEST_SUITE(integers)

namespace {

using namespace colimit::core;

constexpr auto most = std::int64_t{1} << 53;

} // namespace

BOOST_AUTO_TEST_CASE(a_quotient_is_rounded_down_or_up_to_the_next_whole_number) {
    for (std::int64_t b = 1; b <= 7; ++b)
        for (std::int64_t a = -30; a <= 30; ++a) {
            const auto down = floor_div(a, b);
            BOOST_TEST((down * b <= a && a < (down + 1) * b));
            if (a < 0)
                continue;
            const auto up = ceil_div(a, b);
            BOOST_TEST(((up - 1) * b < a && a <= up * b));
        }
}

BOOST_AUTO_TEST_CASE(the_largest_numbers_are_divided_without_passing_them) {
    BOOST_TEST(ceil_div(most, most) == 1);
    BOOST_TEST(ceil_div(most, most - 1) == 2);
    BOOST_TEST(floor_div(most, most) == 1);
    BOOST_TEST(floor_div(1 - most, most) == -1);
}

BOOST_AUTO_TEST_CASE(a_wait_in_units_ends_at_a_whole_one) {
    BOOST_TEST(in_units(1'999, 1) == 1'999);
    BOOST_TEST(in_units(1'999, 1'000) == 1);
    BOOST_TEST(wait_of(0, 1'000, 1'999) == 0);
    BOOST_TEST(wait_of(1, 1'000, 1'999) == 1);
    BOOST_TEST(wait_of(2, 1'000, 1'000) == 2'000);
    BOOST_TEST(wait_of(5, 1, 1'999) == 5);
}

BOOST_AUTO_TEST_SUITE_END()

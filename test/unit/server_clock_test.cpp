// SPDX-License-Identifier: BSL-1.0
//
// The bounds of a server's clock: it is always between them, however wrong this process's is.

#include <redis/multi/server_clock.hpp>
#include <support/unit_test.hpp>

#include <cstdint>
#include <random>

BOOST_AUTO_TEST_SUITE(server_clocks)

namespace {

using colimit::redis::server_clock;

constexpr std::int64_t hour = 3'600'000'000;

} // namespace

BOOST_AUTO_TEST_CASE(one_answer_gives_bounds_as_far_apart_as_it_took) {
    auto clock = server_clock{};
    clock.observe(100, 150, 9'000);
    BOOST_TEST(clock.earliest(150) == 9'000 - 1);
    BOOST_TEST(clock.latest(150) == 9'050 + 1);
}

BOOST_AUTO_TEST_CASE(a_quicker_answer_narrows_the_bounds_and_a_slower_one_does_not_widen_them) {
    auto clock = server_clock{};
    clock.observe(0, 1'000, 9'000);
    clock.observe(1'000, 1'010, 9'505);
    BOOST_TEST(clock.latest(1'010) - clock.earliest(1'010) == 12);
    clock.observe(1'010, 9'010, 9'600);
    BOOST_TEST(clock.latest(9'010) - clock.earliest(9'010) < 40);
}

BOOST_AUTO_TEST_CASE(between_answers_the_bounds_part_by_what_clocks_drift) {
    auto clock = server_clock{};
    clock.observe(0, 0, 9'000);
    const auto width = clock.latest(hour) - clock.earliest(hour);
    BOOST_TEST(width >= 2 * hour / 1'000);
    BOOST_TEST(width <= 2 * hour / 1'000 + 4);
}

BOOST_AUTO_TEST_CASE(an_answer_that_contradicts_what_was_known_replaces_it) {
    for (const auto step : {-5 * hour, 5 * hour}) {
        auto clock = server_clock{};
        clock.observe(0, 10, 100 * hour);
        clock.observe(20, 30, 100 * hour + 20 + step);
        BOOST_TEST(clock.earliest(30) == 100 * hour + 20 + step - 1);
        BOOST_TEST(clock.latest(30) == 100 * hour + 30 + step + 1);
    }
}

BOOST_AUTO_TEST_CASE(the_servers_clock_is_always_between_the_bounds) {
    auto random = std::mt19937_64{1};
    const auto any = [&random](std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>{least, most}(random);
    };
    for (int run = 0; run < 200; ++run) {
        const auto offset = any(-10 * hour, 10 * hour);
        const auto drift = any(-900, 900); // in a million
        // Returns the server's clock when this one's would be `here`, if it had fractions.
        const auto server = [&](std::int64_t here) {
            return 500'000 * hour + here + offset + here * drift / 1'000'000;
        };
        auto clock = server_clock{};
        auto here = any(0, hour);
        for (int i = 0; i < 200; ++i) {
            const auto asked = here;
            const auto told = asked + any(0, 3'000);
            here = told + any(0, 3'000);
            clock.observe(asked, here, server(told));
            here += any(0, 5'000'000);
            BOOST_TEST_REQUIRE(clock.earliest(here) <= server(here));
            BOOST_TEST_REQUIRE(clock.latest(here) >= server(here));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// From the configuration to the settings of a connection: the pauses between probes.

#include <limiter/redis_settings.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>

BOOST_AUTO_TEST_SUITE(settings_of_connections)

namespace {

using namespace std::chrono_literals;
using namespace colimit;

/// Returns the longest pause between probes, in microseconds.
[[nodiscard]] std::int64_t longest_pause(std::chrono::milliseconds least,
                                         std::chrono::milliseconds most) {
    auto c = config{};
    c.advanced.reconnect_delay_min = least;
    c.advanced.reconnect_delay_max = most;
    const auto address = redis::parse_address("redis://localhost");
    const auto made = detail::connection_settings_of(c, address, nullptr);
    BOOST_TEST(made.breaker.pause_least == std::chrono::microseconds{least}.count());
    BOOST_TEST(made.session.reconnect_delay_max == std::chrono::microseconds{most}.count());
    return made.breaker.pause_most;
}

} // namespace

BOOST_AUTO_TEST_CASE(pauses_between_probes_are_bounded_more_than_those_between_attempts) {
    BOOST_TEST(longest_pause(10ms, 1500ms) == 250'000);
    BOOST_TEST(longest_pause(1ms, 20ms) == 20'000);
    BOOST_TEST(longest_pause(400ms, 500ms) == 400'000);
}

BOOST_AUTO_TEST_SUITE_END()

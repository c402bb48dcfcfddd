// SPDX-License-Identifier: BSL-1.0
//
// The policies: rules that never deny here, and settings with which no stall of a busy machine
// causes errors.

#pragma once

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colimit::benchmark {

/// The number of keys in all scenarios with a server, also in the reference.
inline constexpr std::uint32_t server_keys = 100'000;

/// Returns an ordinary limit. A key has a few checks per second for a few seconds, so the limit is
/// never reached, and a key lives from one call to the next. reference.cpp has the same.
[[nodiscard]] inline policy thousand_an_hour() {
    return policy{"bench", gcra(1000, std::chrono::hours{1})};
}

/// Returns the same limit with so large a burst that no key, however popular, reaches it.
[[nodiscard]] inline policy thousand_an_hour_any_burst() {
    return policy{"bench", gcra(1000, std::chrono::hours{1}).burst(500'000'000)};
}

/// Returns the limits of many public interfaces: per minute, hour and day.
[[nodiscard]] inline policy minute_hour_and_day() {
    using std::chrono::hours;
    return policy{"bench", gcra(500, std::chrono::minutes{1}).named("minute"),
                  gcra(1000, hours{1}).named("hour"), gcra(10'000, hours{24}).named("day")};
}

/// Returns an exact limit: a key records each call of the last second.
[[nodiscard]] inline policy hundred_in_any_second() {
    return policy{"bench", sliding_log(100, std::chrono::seconds{1})};
}

/// A log's memory is measured with so many events in each of so many keys, which no key can lose
/// meanwhile, however slow a limiter is.
inline constexpr std::uint32_t events_of_weighed_log = 100;
inline constexpr std::uint32_t weighed_logs = 1'000;
[[nodiscard]] inline policy thousand_in_any_hour() {
    return policy{"bench", sliding_log(1000, std::chrono::hours{1})};
}

/// Returns a counter that begins with a key's first call, as INCR and EXPIRE do.
[[nodiscard]] inline policy thousand_in_an_hour_from_first() {
    return policy{"bench", fixed_window(1000, std::chrono::hours{1}).from_first()};
}

/// Returns a policy for the in-process store that never denies, and recovers so slowly that no
/// state is deleted: each call finds one, reads it and writes it.
[[nodiscard]] inline policy bottomless() {
    return policy{"bench", token_bucket(1'000'000'000, 100'000, std::chrono::hours{24})};
}

[[nodiscard]] inline config patient(const std::string& socket) {
    auto settings = config{};
    settings.server = "unix:" + socket;
    settings.timeout = std::chrono::seconds{10};
    settings.on_failure = failure_mode::error; // calls that the server did not decide do not count
    return settings;
}

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// What is asked: rules that never refuse here, and settings that no stall of a busy machine makes
// fail.

#ifndef COLIMIT_BENCHMARK_SUPPORT_RULES_HPP
#define COLIMIT_BENCHMARK_SUPPORT_RULES_HPP

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colimit::benchmark {

/// The number of keys in all questions about a server, the reference's too.
inline constexpr std::uint32_t server_keys = 100'000;

/// An ordinary limit. A key is asked about a few times a second for a few seconds, so the limit is
/// never reached, and a key lives from one call to the next. reference.cpp has the same.
[[nodiscard]] inline policy thousand_an_hour() {
    return policy{"bench", gcra(1000, std::chrono::hours{1})};
}

/// The same with so large a burst that no key, however popular, reaches it.
[[nodiscard]] inline policy thousand_an_hour_any_burst() {
    return policy{"bench", gcra(1000, std::chrono::hours{1}).burst(500'000'000)};
}

/// What an interface for others often has: a minute's, an hour's and a day's limit.
[[nodiscard]] inline policy minute_hour_and_day() {
    using std::chrono::hours;
    return policy{"bench", gcra(500, std::chrono::minutes{1}).named("minute"),
                  gcra(1000, hours{1}).named("hour"), gcra(10'000, hours{24}).named("day")};
}

/// Exact: a key remembers each call of the last second.
[[nodiscard]] inline policy hundred_in_any_second() {
    return policy{"bench", sliding_log(100, std::chrono::seconds{1})};
}

/// For the in-process store: never refuses, and recovers so slowly that no state is forgotten, so
/// that each call finds one, reads it and writes it.
[[nodiscard]] inline policy bottomless() {
    return policy{"bench", token_bucket(1'000'000'000, 100'000, std::chrono::hours{24})};
}

[[nodiscard]] inline config patient(const std::string& socket) {
    auto settings = config{};
    settings.server = "unix:" + socket;
    settings.timeout = std::chrono::seconds{10};
    settings.on_failure = failure_mode::error; // what the server did not answer does not count
    return settings;
}

} // namespace colimit::benchmark

#endif

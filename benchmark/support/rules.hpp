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

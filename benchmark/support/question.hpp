// SPDX-License-Identifier: BSL-1.0
//
// A question that the benchmark answers, such as "how many checks a second do 256 callers get from
// one server?". Each is one source file with one function, listed in questions.hpp.

#ifndef COLIMIT_BENCHMARK_SUPPORT_QUESTION_HPP
#define COLIMIT_BENCHMARK_SUPPORT_QUESTION_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colimit::benchmark {

/// Under which an answer is sought.
struct conditions {
    std::string socket;        ///< path of the server's unix socket
    std::string scripts;       ///< the folder of reference.lua
    double seconds = 1;        ///< of measuring, after the warm-up
    std::uint64_t warm_up = 0; ///< checks before that, at least
};

/// For a single caller, who needs a second for what many callers do in a twentieth of one.
[[nodiscard]] inline conditions brief(conditions c) {
    c.warm_up /= 20;
    return c;
}

/// One answer. What does not apply is left out.
struct measurement {
    double checks_per_s = 0;
    std::optional<double> server_us_per_check = std::nullopt;
    std::optional<double> client_us_per_check = std::nullopt;
    std::optional<double> allocations_per_check = std::nullopt;
    std::optional<double> p50_us = std::nullopt;
    std::optional<double> p99_us = std::nullopt;
    std::optional<double> p999_us = std::nullopt;
};

/// What the ratio of two questions is made of.
enum class ratio_of : std::uint8_t { throughput, median_latency };

struct question {
    std::string_view name;
    measurement (*measure)(const conditions&);
    /// The question that is asked before each time this one is, so that both see the same machine;
    /// empty for none.
    std::string_view compared_with;
    ratio_of ratio = ratio_of::throughput;
};

} // namespace colimit::benchmark

#endif

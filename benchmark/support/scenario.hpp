// SPDX-License-Identifier: BSL-1.0
//
// A scenario of the benchmark, such as "how many checks per second do 256 callers get from one
// server?". Each is one source file with one function, listed in scenarios.hpp.

#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::benchmark {

/// The conditions of a measurement.
struct conditions {
    std::string socket;             ///< path of the server's unix socket
    std::string scripts;            ///< the folder of reference.lua
    std::string tcp;                ///< its address as config::server; empty if it has no port
    std::string cluster;            ///< the same of a cluster; empty if there is none
    std::vector<std::string> nodes; ///< paths of the unix sockets of its masters
    double seconds = 1;             ///< of measuring, after the warm-up
    std::uint64_t warm_up = 0;      ///< checks before that, at least
    double most_per_s = 0; ///< the rate of redis_uniform in this run, for scenarios under load
};

/// What the server's table of keys does while a scenario under load measures: it has its size from
/// the warm-up, or it doubles at the beginning, which slows the server down.
enum class key_table : std::uint8_t { grown, grows };

/// Returns conditions for a single caller, which needs one second for the checks that many callers
/// make in a twentieth of it.
[[nodiscard]] inline conditions brief(conditions c) {
    c.warm_up /= 20;
    return c;
}

/// Thrown by a rival's scenario if the rival is not installed; says how to install it.
class not_to_be_had : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One measurement. Figures that do not apply are nullopt.
struct measurement {
    double checks_per_s = 0;
    std::optional<double> server_us_per_check = std::nullopt;
    std::optional<double> client_us_per_check = std::nullopt;
    std::optional<double> allocations_per_check = std::nullopt;
    std::optional<double> p50_us = std::nullopt;
    std::optional<double> p99_us = std::nullopt;
    std::optional<double> p999_us = std::nullopt;
    std::optional<double> max_us = std::nullopt;
    std::optional<double> load_per_s = std::nullopt; ///< the requested rate of an open loop
    std::optional<double> keys_per_batch = std::nullopt;
    std::optional<double> bytes_per_key = std::nullopt; ///< of the server's memory
    std::optional<double> leased_share = std::nullopt;  ///< of the checks, decided by leases
    std::optional<double> allowed_share = std::nullopt; ///< if calls may be denied
};

/// The figure from which a ratio is computed.
enum class ratio_of : std::uint8_t { throughput, median_latency, p99_latency };

/// The requirements of a scenario besides the server.
enum class needs : std::uint8_t { nothing, most_per_s, rival, cluster };

struct scenario {
    std::string_view name;
    measurement (*measure)(const conditions&);
    /// The scenario that runs before each round of this one, so that both see the same machine;
    /// empty for none.
    std::string_view compared_with;
    ratio_of ratio = ratio_of::throughput;
    needs first = needs::nothing;
};

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// Load as the benchmark makes it: callers in a closed loop, each of which makes a call for a random
// key, waits for the result and repeats.

#pragma once

#include <tool/load/histogram.hpp>

#include <colimit/config.hpp>
#include <colimit/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tool::load {

struct plan {
    colimit::config settings; ///< its prefix is that of the keys
    colimit::policy policy;
    std::size_t callers = 1;
    std::size_t keys = 1;
    double seconds = 1; ///< in addition to a warm-up of a tenth, which is not counted
};

struct result {
    histogram latencies;
    std::uint64_t checks = 0;
    std::uint64_t denied = 0;
    double seconds = 0; ///< less than planned after a signal, more if a call took longer
    std::uint64_t batches = 0;
    std::uint64_t batch_keys = 0;
    std::uint64_t module_checks = 0; ///< sent to the server module
    /// Processor time of the servers in microseconds; nullopt if it is not known.
    std::optional<double> server_us;
    int signal = 0;             ///< 0 if none ended it early
    bool keys_are_left = false; ///< the server failed when the keys were removed
};

/// Makes the load, and resets all keys that it used, also after a signal. A second signal ends the
/// program at once; keys then expire by themselves.
/// @throws std::runtime_error with one sentence, colimit::error; interrupted, if a signal came
/// before anything was measured
[[nodiscard]] result run(const plan& p);

} // namespace tool::load

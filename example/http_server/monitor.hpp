// SPDX-License-Identifier: BSL-1.0
//
// What the page shows: for each policy its counters and the time that its decisions take, and the
// keys that are denied most.

#pragma once

#include "top_keys.hpp"

#include <colimit/limiter.hpp>
#include <colimit/policy_set.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace http_server {

class monitor {
  public:
    /// Policies that the page shows, the first ones by name.
    static constexpr std::size_t max_policies = 24;
    static constexpr std::size_t max_keys = 10;

    /// @param store what the page calls the store: without credentials
    explicit monitor(std::string store) : store_(std::move(store)) {}

    /// Counts the key of a denied call.
    void add_denial(std::string_view policy, std::string_view key);
    /// Returns whether to measure the time of a request: of the first ones in a second, then of one
    /// in 16, as reading a clock twice takes as long as a tenth of a decision in process.
    [[nodiscard]] bool wants_time() noexcept {
        ++requests_;
        return requests_ <= always_measured || requests_ % 16 == 0;
    }
    /// Counts the time from a request's question to its decision.
    void add_time(std::string_view policy, std::chrono::steady_clock::duration time);

    /// Returns the state as one line of JSON. Counters only grow, so the page computes rates from
    /// the differences of any two states.
    [[nodiscard]] std::string state(const colimit::limiter& limiter,
                                    const colimit::policy_set& policies, std::size_t pages);

  private:
    static constexpr std::uint64_t always_measured = 256;

    struct quantiles {
        std::chrono::microseconds p50{};
        std::chrono::microseconds p99{};
    };
    /// The times of the current second, and what those of the last second with any were.
    struct times {
        colimit::latency_histogram current;
        quantiles last;
    };

    void begin_second(const colimit::policy_set& policies);

    std::string store_;
    std::map<std::string, times, std::less<>> times_;
    top_keys keys_;
    std::uint64_t requests_ = 0; ///< in the current second
    std::chrono::steady_clock::time_point second_{};
};

} // namespace http_server

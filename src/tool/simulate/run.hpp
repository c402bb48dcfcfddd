// SPDX-License-Identifier: BSL-1.0
//
// How rules answer traffic: the limiter in this process, with the traffic's time as its clock.

#pragma once

#include <tool/simulate/traffic.hpp>

#include <colimit/rule.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tool::simulate {

/// The answers of one rule to one kind of traffic.
struct answer {
    std::vector<bool> allowed; ///< of each request
    std::size_t granted = 0;
    /// The most grants in any interval of a period, without its end.
    std::size_t most_in_period = 0;
};

struct row {
    std::string algorithm;
    std::string rule;
    std::vector<answer> answers; ///< in the order of `scenarios::all`
};

struct comparison {
    simulate::scenarios scenarios;
    std::vector<row> rows; ///< in the order of the rules
};

/// Returns the algorithms that are compared by default, each with this limit.
[[nodiscard]] std::vector<colimit::rule> usual_rules(std::int64_t limit,
                                                     std::chrono::microseconds period);

/// The traffic is made for the first rule. @throws colimit::error, std::runtime_error
[[nodiscard]] comparison compare(const std::vector<colimit::rule>& rules);

/// Requests and grants in equal parts of the whole time.
struct bins {
    std::vector<std::size_t> requests;
    std::vector<std::size_t> granted;
};
[[nodiscard]] bins divide(const comparison& all, std::size_t kind, std::size_t row,
                          std::size_t count);

} // namespace tool::simulate

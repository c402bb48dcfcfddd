// SPDX-License-Identifier: BSL-1.0
//
// Summarises several rounds of a scenario as a row of the table: medians, and their spread.

#pragma once

#include <support/scenario.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace colimit::benchmark {

struct result {
    std::string name;
    measurement median;
    double least_checks_per_s = 0;
    double most_checks_per_s = 0;
    std::size_t rounds = 0;
    std::string compared_with;
    std::optional<double> ratio; ///< median of the rounds' ratios: what changes slowly cancels out
};

[[nodiscard]] double median(std::vector<double> values);

/// @param others the measurements that it is compared with, round by round; or empty
[[nodiscard]] result summarize(const scenario& of, std::span<const measurement> rounds,
                               std::span<const measurement> others);

} // namespace colimit::benchmark

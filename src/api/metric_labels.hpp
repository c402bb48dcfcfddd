// SPDX-License-Identifier: BSL-1.0
//
// Labels of metrics in the text format of Prometheus: `name="value",name="value"`.

#pragma once

#include <colimit/metrics.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colimit {

/// Returns labels with another one behind them, whose value is escaped here.
[[nodiscard]] std::string joined(std::string_view labels, std::string_view name,
                                 std::string_view value);

/// Returns the program's labels of each limiter, or of each source.
/// @param what the name of the list, for errors
/// @throws colimit::error with `errc::invalid_argument` if one is not valid, or if two elements
/// have the same
[[nodiscard]] std::vector<std::string>
texts_of_labels(std::string_view what, const std::vector<std::vector<metric_label>>& labels);

template<class Metrics>
[[nodiscard]] std::vector<std::string> texts_of_labels(std::string_view what,
                                                       std::span<const Metrics> all) {
    auto labels = std::vector<std::vector<metric_label>>{};
    for (const auto& one : all)
        labels.push_back(one.labels);
    return texts_of_labels(what, labels);
}

} // namespace colimit

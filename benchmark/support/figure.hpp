// SPDX-License-Identifier: BSL-1.0
//
// Figures as readable text.

#pragma once

#include <cstddef>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>

namespace colimit::benchmark {

/// Returns `-` if there is none.
[[nodiscard]] inline std::string text(std::optional<double> value, int digits) {
    if (!value)
        return "-";
    return (std::ostringstream{} << std::fixed << std::setprecision(digits) << *value).str();
}

/// 1,234,567
[[nodiscard]] inline std::string grouped(double value) {
    auto digits = text(value, 0);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

} // namespace colimit::benchmark

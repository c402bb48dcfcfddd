// SPDX-License-Identifier: BSL-1.0
//
// The timeline as text: two rows of bars over one time axis.
//
//             each bar is 2 min, in UTC
//      1,204 ┤   ▂█▃
//   requests ┤▁▄▆███▇▅▂
//            └┬────────┬───
//             09:00    10:00

#pragma once

#include <tool/replay/timeline.hpp>

#include <cstddef>
#include <string>

namespace tool::replay {

/// Columns in front of the bars.
inline constexpr std::size_t chart_margin = 13;

/// @param unicode whether the terminal has more than ASCII
[[nodiscard]] std::string chart(const timeline& line, std::size_t columns, bool unicode);

} // namespace tool::replay

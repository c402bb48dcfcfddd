// SPDX-License-Identifier: BSL-1.0
//
// The timeline as text: two rows of bars over one time axis.
//
//             each bar is 2 min, in UTC
//      1,204 ┤   ▂█▃
//   requests ┤▁▄▆███▇▅▂
//            └┬────────┬───
//             09:00    10:00
//
// And as a picture: requests above, denials below on a separate scale, because a good limit denies
// few. No scripts, no external fonts.

#pragma once

#include <tool/replay/report.hpp>
#include <tool/replay/timeline.hpp>

#include <cstddef>
#include <string>

namespace tool::replay {

/// Columns in front of the bars.
inline constexpr std::size_t chart_margin = 13;

/// @param unicode whether the terminal has more than ASCII
[[nodiscard]] std::string chart(const timeline& line, std::size_t columns, bool unicode);

/// The largest number of steps in a picture.
inline constexpr std::size_t svg_steps = 220;

[[nodiscard]] std::string svg(const subject& what, const statistics& found, const timeline& line);

} // namespace tool::replay

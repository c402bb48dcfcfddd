// SPDX-License-Identifier: BSL-1.0
//
// The timeline as a picture: requests above, denials below on a separate scale, because a good
// limit denies few. No scripts, no external fonts; it follows the reader's preference for light or
// dark.

#pragma once

#include <tool/replay/report.hpp>
#include <tool/replay/timeline.hpp>

#include <cstddef>
#include <string>

namespace tool::replay {

/// The largest number of steps in a picture.
inline constexpr std::size_t svg_steps = 220;

[[nodiscard]] std::string svg(const subject& what, const statistics& found, const timeline& line);

} // namespace tool::replay

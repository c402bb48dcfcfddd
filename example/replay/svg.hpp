// SPDX-License-Identifier: BSL-1.0
//
// The timeline as a picture: requests above, refusals below on a scale of their own, because they
// are few where a limit is good. No scripts, no fonts from elsewhere; it follows the reader's
// preference for light or dark.

#ifndef COLIMIT_EXAMPLE_REPLAY_SVG_HPP
#define COLIMIT_EXAMPLE_REPLAY_SVG_HPP

#include "replay/report.hpp"
#include "replay/timeline.hpp"

#include <cstddef>
#include <string>

namespace replay {

/// Steps of the timeline that a picture has room for.
inline constexpr std::size_t svg_steps = 220;

[[nodiscard]] std::string svg(const subject& what, const statistics& found, const timeline& line);

} // namespace replay

#endif

// SPDX-License-Identifier: BSL-1.0
//
// Elements of the pictures of the tool and the benchmark: a page with a title that follows the
// reader's preference for light or dark, texts and lines.

#pragma once

#include <iosfwd>
#include <string_view>

namespace tool {

/// Title and subtitle take the uppermost 60 pixels.
void begin_picture(std::ostream& out, double width, double height, std::string_view title,
                   std::string_view subtitle);
void end_picture(std::ostream& out);

/// @param anchor `start`, `middle` or `end`
/// @param kind `title`, `name`, `number`, `small` or, for a number above a limit, `excess`
void print_text(std::ostream& out, double x, double y, std::string_view anchor,
                std::string_view kind, std::string_view text);

/// @param kind `axis` or `grid`
void print_line(std::ostream& out, std::string_view kind, double x1, double y1, double x2,
                double y2);

} // namespace tool

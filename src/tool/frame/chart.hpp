// SPDX-License-Identifier: BSL-1.0
//
// The charts of the tool and the benchmark. As SVG: a page with a title that follows the reader's
// preference for light or dark, texts, lines, legends, and plots of bars and lines. As text: the
// characters of bars.

#pragma once

#include <array>
#include <iosfwd>
#include <string_view>
#include <vector>

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

/// A square of a color and what it means.
struct legend_entry {
    double x;
    std::string_view kind;
    std::string_view text;
};
/// @param y of the upper ends of the squares
void print_legend(std::ostream& out, double y, const std::vector<legend_entry>& entries);

/// The bars of one color, upon those of the layers before.
struct layer {
    std::string_view kind;
    std::vector<double> values;
};

/// An area of a picture, with `steps` from left to right and values that grow upwards from zero.
struct plot {
    double left;
    double right;
    double top;
    double bottom;
    double steps;
    double most;             ///< the value at the top; larger ones are cut off
    double least_height = 0; ///< of values above zero

    [[nodiscard]] double x(double step) const { return left + (right - left) * step / steps; }
    [[nodiscard]] double y(double value) const;

    /// Prints the line at zero.
    void print_axis(std::ostream& out) const;
    /// @param gap to the right of each bar
    void print_bars(std::ostream& out, double gap, const std::vector<layer>& layers) const;
};

/// Characters of increasing height, from none to all of a line.
using bar_glyphs = std::array<std::string_view, 9>;
inline constexpr bar_glyphs block_bars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
inline constexpr bar_glyphs ascii_bars{" ", ".", ".", ".", ":", ":", ":", "#", "#"};

} // namespace tool

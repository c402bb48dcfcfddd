// SPDX-License-Identifier: BSL-1.0
//
// SVG as text.

#include <tool/frame/chart.hpp>

#include <algorithm>
#include <ostream>
#include <string>

namespace tool {

namespace {

constexpr std::string_view style = R"(<style>
  svg { --paper: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d8dee4;
        --allowed: #4c8bc0; --limited: #d1570c; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --grid: #2c333c;
          --allowed: #5b9bd3; --limited: #f0883e; }
  }
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #59636e; fill: var(--faint); }
  .title { font-size: 18px; font-weight: 600; fill: #1f2328; fill: var(--ink); }
  .name { fill: #1f2328; fill: var(--ink); font-weight: 600; }
  .small { font-size: 11px; }
  .excess { fill: #d1570c; fill: var(--limited); font-weight: 600; }
  .paper { fill: #ffffff; fill: var(--paper); }
  .grid { stroke: #d8dee4; stroke: var(--grid); fill: none; }
  .axis { stroke: #59636e; stroke: var(--faint); fill: none; }
  .allowed { fill: #4c8bc0; fill: var(--allowed); }
  .limited { fill: #d1570c; fill: var(--limited); }
</style>
)";

std::string xml(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else if (c == '"')
            result += "&quot;";
        else
            result += c;
    }
    return result;
}

} // namespace

void print_text(std::ostream& out, double x, double y, std::string_view anchor,
                std::string_view kind, std::string_view text) {
    out << "<text x='" << x << "' y='" << y << "' text-anchor='" << anchor << "' class='" << kind
        << "'>" << xml(text) << "</text>\n";
}

void print_line(std::ostream& out, std::string_view kind, double x1, double y1, double x2,
                double y2) {
    out << "<path class='" << kind << "' d='M" << x1 << ' ' << y1 << 'L' << x2 << ' ' << y2
        << "'/>\n";
}

void begin_picture(std::ostream& out, double width, double height, std::string_view title,
                   std::string_view subtitle) {
    out << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
        << "' width='" << width << "' height='" << height << "' role='img'>\n<title>" << xml(title)
        << "</title>\n"
        << style << "<rect class='paper' width='100%' height='100%'/>\n";
    print_text(out, 24, 34, "start", "title", title);
    print_text(out, 24, 56, "start", "number", subtitle);
}

void end_picture(std::ostream& out) {
    out << "</svg>\n";
}

void print_legend(std::ostream& out, double y, const std::vector<legend_entry>& entries) {
    for (const auto& [x, kind, text] : entries) {
        out << "<rect class='" << kind << "' x='" << x << "' y='" << y
            << "' width='11' height='11'/>\n";
        print_text(out, x + 17, y + 10, "start", "number", text);
    }
}

double plot::y(double value) const {
    const auto height = (bottom - top) * std::min(value / most, 1.0);
    return bottom - (value == 0 ? 0 : std::max(height, least_height));
}

void plot::print_axis(std::ostream& out) const {
    print_line(out, "axis", left, bottom + 0.5, right, bottom + 0.5);
}

void plot::print_bars(std::ostream& out, double gap, const std::vector<layer>& layers) const {
    std::vector<double> from(layers.front().values.size());
    for (const auto& [kind, values] : layers) {
        out << "<path class='" << kind << "' d='";
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] == 0)
                continue;
            const auto to = from[i] + values[i];
            out << 'M' << x(static_cast<double>(i)) << ' ' << y(from[i]) << 'V' << y(to) << 'H'
                << x(static_cast<double>(i + 1)) - gap << 'V' << y(from[i]) << 'z';
            from[i] = to;
        }
        out << "'/>\n";
    }
}

} // namespace tool

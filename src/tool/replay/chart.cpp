// SPDX-License-Identifier: BSL-1.0
//
// Values above zero are always visible. In the picture two panels have one time axis, in whole
// pixels where that keeps lines sharp.

#include <tool/replay/chart.hpp>

#include <tool/frame/chart.hpp>
#include <tool/frame/format.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

namespace tool::replay {

namespace {

constexpr std::size_t rows = 4;
constexpr std::size_t label_gap = 3; // columns between labels of the time axis

struct glyphs {
    const bar_glyphs* bar;
    std::string_view side, corner, line, tick;
};

constexpr glyphs block_glyphs{&block_bars, "┤", "└", "─", "┬"};
constexpr glyphs ascii_glyphs{&ascii_bars, "|", "+", "-", "+"};

std::string margin(std::string_view text) {
    return std::string(chart_margin - 2 - std::min(text.size(), chart_margin - 2), ' ') +
           std::string{text} + ' ';
}

/// The bars of one row of values, from the top down; each is `width` columns wide.
std::string bars(const std::vector<std::size_t>& values, std::string_view name, std::size_t width,
                 const glyphs& with) {
    const auto peak = std::ranges::max(values);
    const auto shades = with.bar->size() - 1; // of each row
    std::string text;
    for (auto row = rows; row-- > 0;) {
        std::string line = margin(row == rows - 1 ? grouped(peak) : (row == 0 ? name : ""));
        line += with.side;
        auto end = line.size(); // without trailing blanks
        for (const auto value : values) {
            const auto height = peak == 0 ? 0 : (value * rows * shades + peak - 1) / peak;
            const auto shade = std::clamp(height, row * shades, (row + 1) * shades) - row * shades;
            for (std::size_t i = 0; i < width; ++i)
                line += (*with.bar)[shade];
            end = shade == 0 ? end : line.size();
        }
        text += line.substr(0, end) + '\n';
    }
    return text;
}

/// Returns as many ticks as fit: the fewer there are, the shorter their labels can be.
std::vector<tick> fitting_ticks(const timeline& line, std::size_t columns) {
    for (auto most = columns / (5 + label_gap);; --most) {
        auto marks = ticks(line, std::max<std::size_t>(most, 1));
        if (most <= 1 || marks.empty() ||
            (marks.front().label.size() + label_gap) * most <= columns)
            return marks;
    }
}

std::string axis(const timeline& line, std::size_t width, const glyphs& with) {
    const auto columns = line.requests.size() * width;
    std::vector<bool> has_tick(columns);
    std::string labels;
    for (const auto& [time, label] : fitting_ticks(line, columns)) {
        const auto at = static_cast<std::size_t>((time - line.start) / line.step) * width;
        if (at + label.size() > columns)
            break;
        has_tick[at] = true;
        labels.resize(at, ' ');
        labels += label;
    }
    auto text = margin("") + std::string{with.corner};
    for (const bool tick : has_tick)
        text += tick ? with.tick : with.line;
    return text + '\n' + std::string(chart_margin, ' ') + labels + '\n';
}

constexpr double picture_width = 960;
constexpr double picture_height = 480;
constexpr double left = 72;
constexpr double right = 936;

constexpr std::size_t title_room = 48; // characters for the rules

/// Returns 1, 2 or 5 times a power of ten, such that at most five steps reach the peak.
std::size_t grid_step(std::size_t peak) {
    for (std::size_t power = 1;; power *= 10)
        for (const std::size_t factor : {1U, 2U, 5U})
            if (power * factor * 5 >= peak)
                return power * factor;
}

/// Returns the plot of numbers, from `top` to `bottom`, and prints its grid.
plot print_grid(std::ostream& out, double top, double bottom, const std::vector<std::size_t>& of) {
    const auto peak = std::max<std::size_t>(std::ranges::max(of), 1);
    const auto step = grid_step(peak);
    const auto most = (peak + step - 1) / step * step;
    const plot in{
        left, right, top, bottom, static_cast<double>(of.size()), static_cast<double>(most), 1.5};
    for (std::size_t value = 0; value <= most; value += step) {
        const auto at = std::round(in.y(static_cast<double>(value))) + 0.5;
        print_line(out, value == 0 ? "axis" : "grid", left, at, right, at);
        print_text(out, left - 8, at + 4, "end", "number", grouped(value));
    }
    return in;
}

void print_bars(std::ostream& out, const plot& in, const std::vector<layer>& layers) {
    in.print_bars(out, in.steps <= svg_steps / 2.0 ? 1.0 : 0.4, layers);
}

void print_upper(std::ostream& out, const timeline& line) {
    constexpr double top = 96;
    auto granted = layer{"allowed", {}};
    for (std::size_t i = 0; i < line.requests.size(); ++i)
        granted.values.push_back(static_cast<double>(line.requests[i] - line.limited[i]));
    print_bars(out, print_grid(out, top, 272, line.requests),
               {granted, {"limited", {line.limited.begin(), line.limited.end()}}});
    print_text(out, left, top - 10, "start", "name", "Requests in " + duration(line.step));
    print_legend(out, top - 20,
                 {{right - 150, "allowed", "allowed"}, {right - 68, "limited", "limited"}});
}

void print_lower(std::ostream& out, const timeline& line) {
    const auto in = print_grid(out, 312, 416, line.limited);
    print_bars(out, in, {{"limited", {line.limited.begin(), line.limited.end()}}});
    print_text(out, left, in.top - 10, "start", "name", "Limited, on its own scale");
    for (const auto& [time, label] : ticks(line, 8)) {
        const auto steps = static_cast<double>((time - line.start).count()) /
                           static_cast<double>(line.step.count());
        const auto x = std::round(in.x(steps)) + 0.5;
        print_line(out, "axis", x, in.bottom, x, in.bottom + 5);
        print_text(out, std::clamp(x, left, right - 30), in.bottom + 22, "middle", "number", label);
    }
    print_text(out, right, in.bottom + 46, "end", "number", "time in UTC");
}

} // namespace

std::string chart(const timeline& line, std::size_t columns, bool unicode) {
    const auto& with = unicode ? block_glyphs : ascii_glyphs;
    const auto room = columns > chart_margin ? columns - chart_margin : 1;
    const auto width = std::max<std::size_t>(room / line.requests.size(), 1);
    return std::string(chart_margin, ' ') + "each bar is " + duration(line.step) + ", in UTC\n" +
           bars(line.requests, "requests", width, with) +
           bars(line.limited, "limited", width, with) + axis(line, width, with);
}

std::string svg(const subject& what, const statistics& found, const timeline& line) {
    std::ostringstream out;
    auto rules = what.joined_rules();
    if (rules.size() > title_room)
        rules = rules.substr(0, title_room - 3) + "...";
    const auto title = rules + " would limit " + grouped(found.limited) + " of " +
                       counted(found.requests, "request") + " (" +
                       percentage(found.limited, found.requests) + ")";
    const auto subtitle = what.log + ": " + counted(found.clients, "client") + ", " +
                          grouped(found.clients_limited.size()) + " of them limited, from " +
                          utc(line.start) + " UTC";
    begin_picture(out, picture_width, picture_height, title, subtitle);
    print_upper(out, line);
    print_lower(out, line);
    end_picture(out);
    return std::move(out).str();
}

} // namespace tool::replay

// SPDX-License-Identifier: BSL-1.0
//
// Each bar has eight heights per row, and values above zero are always visible.

#include <tool/replay/chart.hpp>

#include <tool/frame/format.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tool::replay {

namespace {

constexpr std::size_t rows = 4;
constexpr std::size_t shades = 8;
constexpr std::size_t label_gap = 3; // columns between labels of the time axis

struct glyphs {
    std::array<std::string_view, shades + 1> bar;
    std::string_view side, corner, line, tick;
};

constexpr glyphs block_glyphs{{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "┤", "└", "─", "┬"};
constexpr glyphs ascii_glyphs{{" ", ".", ".", ".", ":", ":", ":", "#", "#"}, "|", "+", "-", "+"};

std::string margin(std::string_view text) {
    return std::string(chart_margin - 2 - std::min(text.size(), chart_margin - 2), ' ') +
           std::string{text} + ' ';
}

/// The bars of one row of values, from the top down; each is `width` columns wide.
std::string bars(const std::vector<std::size_t>& values, std::string_view name, std::size_t width,
                 const glyphs& with) {
    const auto peak = std::ranges::max(values);
    std::string text;
    for (auto row = rows; row-- > 0;) {
        std::string line = margin(row == rows - 1 ? grouped(peak) : (row == 0 ? name : ""));
        line += with.side;
        auto end = line.size(); // without trailing blanks
        for (const auto value : values) {
            const auto height = peak == 0 ? 0 : (value * rows * shades + peak - 1) / peak;
            const auto shade = std::clamp(height, row * shades, (row + 1) * shades) - row * shades;
            for (std::size_t i = 0; i < width; ++i)
                line += with.bar[shade];
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

} // namespace

std::string chart(const timeline& line, std::size_t columns, bool unicode) {
    const auto& with = unicode ? block_glyphs : ascii_glyphs;
    const auto room = columns > chart_margin ? columns - chart_margin : 1;
    const auto width = std::max<std::size_t>(room / line.requests.size(), 1);
    return std::string(chart_margin, ' ') + "each bar is " + duration(line.step) + ", in UTC\n" +
           bars(line.requests, "requests", width, with) +
           bars(line.limited, "limited", width, with) + axis(line, width, with);
}

} // namespace tool::replay

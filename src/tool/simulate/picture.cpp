// SPDX-License-Identifier: BSL-1.0
//
// One panel for each rule and kind of traffic; those of a column have one scale.

#include <tool/frame/drawing.hpp>
#include <tool/frame/format.hpp>
#include <tool/simulate/picture.hpp>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string_view>

namespace tool::simulate {

namespace {

using std::chrono::ceil;
using std::chrono::seconds;

constexpr double picture_width = 960;
constexpr double left = 152; ///< of the panels; the names of the rules are before them
constexpr double panel_width = 184;
constexpr double column_width = panel_width + 16;
constexpr double first_row = 120;
constexpr double row_height = 72;
constexpr double bars_top = 22; ///< within a row, below the figures
constexpr double bars_bottom = 56;
constexpr double axis_height = 40;

constexpr std::size_t parts = 60; ///< of the time, with a bar each
constexpr double bar_width = panel_width / parts;
constexpr double bar_gap = 0.6;

constexpr std::size_t name_room = 19; ///< characters

struct place {
    double x;
    double y;
};

place panel_of(std::size_t kind, std::size_t row) {
    return {left + column_width * static_cast<double>(kind),
            first_row + row_height * static_cast<double>(row)};
}

std::string shortened(const std::string& text) {
    return text.size() <= name_room ? text : text.substr(0, name_room - 3) + "...";
}

void print_bars(std::ostream& out, std::string_view color, place at, std::size_t peak,
                const std::vector<std::size_t>& from, const std::vector<std::size_t>& to) {
    const auto bottom = at.y + bars_bottom;
    const auto y = [&](std::size_t value) {
        return bottom -
               (bars_bottom - bars_top) * static_cast<double>(value) / static_cast<double>(peak);
    };
    out << "<path class='" << color << "' d='";
    for (std::size_t i = 0; i < to.size(); ++i) {
        const auto x = at.x + bar_width * static_cast<double>(i);
        if (to[i] != from[i])
            out << 'M' << x << ' ' << y(from[i]) << 'V' << y(to[i]) << 'H'
                << x + bar_width - bar_gap << 'V' << y(from[i]) << 'z';
    }
    out << "'/>\n";
}

void print_panel(std::ostream& out, const comparison& all, std::size_t kind, std::size_t row) {
    const auto at = panel_of(kind, row);
    for (int period = 1; period < 3; ++period) {
        const auto x = at.x + panel_width * period / 3;
        print_line(out, "grid", x, at.y + bars_top - 2, x, at.y + bars_bottom);
    }
    const auto values = divide(all, kind, row, parts);
    const auto peak = std::max<std::size_t>(std::ranges::max(values.requests), 2);
    const std::vector<std::size_t> none(parts);
    print_bars(out, "allowed", at, peak, none, values.granted);
    print_bars(out, "limited", at, peak, values.granted, values.requests);
    print_line(out, "axis", at.x, at.y + bars_bottom + 0.5, at.x + panel_width,
               at.y + bars_bottom + 0.5);

    const auto& found = all.rows[row].answers[kind];
    const auto exceeds = static_cast<std::int64_t>(found.most_in_period) > all.scenarios.limit;
    print_text(out, at.x, at.y + 14, "start", "number",
               grouped(found.granted) + " of " + grouped(found.allowed.size()));
    print_text(out, at.x + panel_width, at.y + 14, "end", exceeds ? "excess" : "number",
               "peak " + grouped(found.most_in_period));
}

void print_heads(std::ostream& out, const comparison& all) {
    for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind) {
        const auto x = panel_of(kind, 0).x;
        print_text(out, x, 92, "start", "name", all.scenarios.all.at(kind).name);
        print_text(out, x, 109, "start", "small", all.scenarios.all.at(kind).description);
    }
    for (std::size_t row = 0; row < all.rows.size(); ++row) {
        const auto y = panel_of(0, row).y;
        print_text(out, 24, y + 37, "start", "name", all.rows[row].algorithm);
        print_text(out, 24, y + 54, "start", "small", shortened(all.rows[row].rule));
    }
}

void print_axes(std::ostream& out, const comparison& all) {
    const auto y = panel_of(0, all.rows.size()).y + 6;
    for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind)
        for (int period = 0; period <= 3; ++period) {
            const auto* const anchor = period == 0 ? "start" : period == 3 ? "end" : "middle";
            const auto text =
                period == 0 ? "0" : duration(ceil<seconds>(all.scenarios.period * period));
            print_text(out, panel_of(kind, 0).x + panel_width * period / 3, y, anchor, "small",
                       text);
        }
}

void print_legend(std::ostream& out) {
    constexpr double x = 792;
    out << "<rect class='allowed' x='" << x << "' y='24' width='11' height='11'/>\n"
        << "<rect class='limited' x='" << x + 76 << "' y='24' width='11' height='11'/>\n";
    print_text(out, x + 17, 34, "start", "number", "allowed");
    print_text(out, x + 93, 34, "start", "number", "denied");
}

} // namespace

std::string picture(const comparison& all) {
    std::ostringstream out;
    const auto period = duration(ceil<seconds>(all.scenarios.period));
    begin_picture(out, picture_width, panel_of(0, all.rows.size()).y + axis_height,
                  "One limit, " + grouped(static_cast<std::size_t>(all.scenarios.limit)) + " in " +
                      period + ", and how each algorithm keeps it",
                  "Requests of one client over " + duration(ceil<seconds>(all.scenarios.length())) +
                      ". Peak: the most that were allowed within any " + period + ".");
    print_legend(out);
    print_heads(out, all);
    for (std::size_t row = 0; row < all.rows.size(); ++row)
        for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind)
            print_panel(out, all, kind, row);
    print_axes(out, all);
    end_picture(out);
    return std::move(out).str();
}

} // namespace tool::simulate

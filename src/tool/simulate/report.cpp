// SPDX-License-Identifier: BSL-1.0
//
// In the picture: one panel for each rule and kind of traffic; those of a column have one scale.

#include <tool/frame/chart.hpp>
#include <tool/frame/format.hpp>
#include <tool/simulate/report.hpp>

#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

namespace tool::simulate {

namespace {

constexpr std::size_t figures_width = 20;
/// Divisors of the steady traffic of the usual rules, so that it looks even.
constexpr std::array<std::size_t, 4> bin_counts{60, 30, 15, 6};

struct layout {
    std::size_t name_width;
    std::size_t bins;
    const bar_glyphs* granted;
    std::string_view denied;
};

/// The algorithm and the rule, whose text often names it.
std::string label(const row& r) {
    return r.rule.find(r.algorithm) == std::string::npos ? r.algorithm + ' ' + r.rule : r.rule;
}

layout make_layout(const comparison& all, std::size_t columns, bool unicode) {
    std::size_t widest = 8;
    for (const auto& row : all.rows)
        widest = std::max(widest, label(row).size());
    const auto taken = widest + figures_width + 4;
    const auto room = columns > taken ? columns - taken : 1;
    const auto* const bins =
        std::ranges::find_if(bin_counts, [room](std::size_t count) { return count <= room; });
    return {widest, bins == bin_counts.end() ? bin_counts.back() : *bins,
            unicode ? &block_bars : &ascii_bars, unicode ? "×" : "x"};
}

/// One character for each part of the time: how many requests were granted then, or that all of
/// them were denied.
std::string strip(const bins& parts, const layout& form) {
    const auto peak = std::ranges::max(parts.requests);
    const auto heights = form.granted->size() - 1;
    std::string text;
    for (std::size_t i = 0; i < parts.requests.size(); ++i) {
        if (parts.requests[i] == 0)
            text += ' ';
        else if (parts.granted[i] == 0)
            text += form.denied;
        else
            text += (*form.granted)[(parts.granted[i] * heights + peak - 1) / peak];
    }
    return text;
}

void print_kind(std::ostream& out, const comparison& all, std::size_t kind, const layout& form) {
    const auto& sent = all.scenarios.all.at(kind);
    const auto name_width = static_cast<int>(form.name_width) + 2;
    out << '\n'
        << sent.name << ": " << sent.description << ", " << counted(sent.requests.size(), "request")
        << '\n'
        << std::left << std::setw(name_width) << "" << std::setw(static_cast<int>(form.bins) + 2)
        << "" << std::right << std::setw(12) << "allowed" << std::setw(8) << "peak" << '\n';
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
        const auto& found = all.rows[i].answers[kind];
        out << std::left << std::setw(name_width) << label(all.rows[i])
            << strip(divide(all, kind, i, form.bins), form) << "  " << std::right << std::setw(12)
            << grouped(found.granted) << std::setw(8) << grouped(found.most_in_period) << '\n';
    }
}

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

void print_panel(std::ostream& out, const comparison& all, std::size_t kind, std::size_t row) {
    const auto at = panel_of(kind, row);
    for (int period = 1; period < 3; ++period) {
        const auto x = at.x + panel_width * period / 3;
        print_line(out, "grid", x, at.y + bars_top - 2, x, at.y + bars_bottom);
    }
    const auto values = divide(all, kind, row, parts);
    auto denied = layer{"limited", {}};
    for (std::size_t i = 0; i < parts; ++i)
        denied.values.push_back(static_cast<double>(values.requests[i] - values.granted[i]));
    const auto peak = std::max<std::size_t>(std::ranges::max(values.requests), 2);
    const plot in{at.x,  at.x + panel_width,       at.y + bars_top, at.y + bars_bottom,
                  parts, static_cast<double>(peak)};
    in.print_bars(out, bar_gap,
                  {{"allowed", {values.granted.begin(), values.granted.end()}}, denied});
    in.print_axis(out);

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

} // namespace

std::string table(const comparison& all, std::size_t columns, bool unicode) {
    const auto form = make_layout(all, columns, unicode);
    std::ostringstream out;
    const auto each = all.scenarios.length() / static_cast<std::int64_t>(form.bins);
    out << "each column is " << std::chrono::duration<double>(each).count() << " s; " << form.denied
        << " where all requests were denied; peak: the most that were allowed in any "
        << duration(std::chrono::ceil<std::chrono::seconds>(all.scenarios.period)) << '\n';
    for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind)
        print_kind(out, all, kind, form);
    return std::move(out).str();
}

std::string picture(const comparison& all) {
    std::ostringstream out;
    const auto period = duration(ceil<seconds>(all.scenarios.period));
    begin_picture(out, picture_width, panel_of(0, all.rows.size()).y + axis_height,
                  "One limit, " + grouped(static_cast<std::size_t>(all.scenarios.limit)) + " in " +
                      period + ", and how each algorithm keeps it",
                  "Requests of one client over " + duration(ceil<seconds>(all.scenarios.length())) +
                      ". Peak: the most that were allowed within any " + period + ".");
    print_legend(out, 24, {{792, "allowed", "allowed"}, {868, "limited", "denied"}});
    print_heads(out, all);
    for (std::size_t row = 0; row < all.rows.size(); ++row)
        for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind)
            print_panel(out, all, kind, row);
    print_axes(out, all);
    end_picture(out);
    return std::move(out).str();
}

} // namespace tool::simulate

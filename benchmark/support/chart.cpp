// SPDX-License-Identifier: BSL-1.0
//
// Two panels of horizontal bars, each as high as it has rows.

#include <support/chart.hpp>
#include <support/figure.hpp>
#include <tool/frame/chart.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::benchmark {
namespace {

constexpr double picture_width = 960;
constexpr double bars_left = 168;
constexpr double bars_right = 640; ///< the figures stand to the right of the bars
constexpr double row_height = 24;
constexpr double bar_height = 14;
constexpr double panel_head = 40; ///< above the rows of a panel

struct bar {
    std::string name;
    double length = 0; ///< in the unit of its panel
    double mark = 0;   ///< a second end within it; 0: none
    std::string figures;
};

struct panel {
    std::string_view name;
    std::vector<bar> bars;

    [[nodiscard]] double height() const {
        return bars.empty() ? 0 : panel_head + row_height * static_cast<double>(bars.size());
    }
};

void print_rectangle(std::ostream& out, std::string_view kind, double y, double width) {
    out << "<rect class='" << kind << "' x='" << bars_left << "' y='" << y << "' width='"
        << std::max(width, 1.0) << "' height='" << bar_height << "'/>\n";
}

void print_panel(std::ostream& out, const panel& p, double top) {
    if (p.bars.empty())
        return;
    tool::print_text(out, 24, top + panel_head - 14, "start", "name", p.name);
    const auto longest = std::ranges::max(p.bars, {}, &bar::length).length;
    auto y = top + panel_head;
    for (const auto& each : p.bars) {
        const auto scale = (bars_right - bars_left) / longest;
        tool::print_text(out, bars_left - 10, y + bar_height - 3, "end", "number", each.name);
        print_rectangle(out, "allowed", y, each.length * scale);
        if (each.mark > 0)
            print_rectangle(out, "limited", y, each.mark * scale);
        tool::print_text(out, bars_left + each.length * scale + 10, y + bar_height - 3, "start",
                         "number", each.figures);
        y += row_height;
    }
    const auto axis = std::round(bars_left) + 0.5;
    tool::print_line(out, "axis", axis, top + panel_head - 4, axis, y - 4);
}

/// The ratio of the reference is 1.
[[nodiscard]] panel throughput(const report& r) {
    auto p = panel{"Checks a second of one server, times the reference", {}};
    for (const auto& each : r.results) {
        const auto is_reference = each.name == "reference";
        if (!is_reference && (each.compared_with != "reference" || !each.ratio))
            continue;
        const auto ratio = is_reference ? 1.0 : *each.ratio;
        auto figures = text(ratio, 2) + " x, " + grouped(each.median.checks_per_s) + " checks/s";
        if (each.median.server_us_per_check)
            figures += ", server " + text(each.median.server_us_per_check, 2) + " us";
        p.bars.push_back({each.name, ratio, 0, figures});
    }
    return p;
}

[[nodiscard]] panel latency(const report& r) {
    auto p = panel{"Microseconds from the intended start: p50 within p99", {}};
    for (const auto& each : r.results)
        if (const auto& m = each.median; m.load_per_s && m.p50_us && m.p99_us)
            p.bars.push_back({each.name, *m.p99_us, *m.p50_us,
                              text(m.p50_us, 0) + " and " + text(m.p99_us, 0) + " us at " +
                                  grouped(*m.load_per_s) + " checks/s"});
    return p;
}

} // namespace

void write_chart(std::ostream& out, const report& r) {
    constexpr auto head = 64.0;
    const auto upper = throughput(r);
    const auto lower = latency(r);
    tool::begin_picture(out, picture_width, head + upper.height() + lower.height() + 24,
                        "colimit's benchmark", r.date + ", " + r.machine + ", " + r.server);
    print_panel(out, upper, head);
    print_panel(out, lower, head + upper.height());
    tool::end_picture(out);
}

} // namespace colimit::benchmark

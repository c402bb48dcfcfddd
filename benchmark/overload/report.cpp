// SPDX-License-Identifier: BSL-1.0
//
// The table has requests as percentages of those of the phase. In the picture each row has bars of
// the requests by their fate, with a line of what the workers can serve, and below the limit and
// the requests inside. All rows have the same scales.

#include <overload/report.hpp>
#include <tool/frame/chart.hpp>
#include <tool/frame/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

namespace colimit::benchmark::overload {
namespace {

using namespace tool;

constexpr int name_width = 12;
constexpr int figure_width = 11;
constexpr int limit_width = 14;

/// The limits of a server in one phase; 0 without a limit.
struct limit_range {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

limit_range limits(const scenario& all, const record& server, std::size_t phase) {
    const auto [first, last] = seconds_of(all, phase);
    const auto [least, most] =
        std::minmax_element(server.seconds.begin() + static_cast<std::ptrdiff_t>(first),
                            server.seconds.begin() + static_cast<std::ptrdiff_t>(last),
                            [](const second& a, const second& b) { return a.limit < b.limit; });
    return {least->limit, most->limit};
}

std::string text_of(const limit_range& limits) {
    return limits.most == 0 ? "-"
                            : std::to_string(limits.least) + " to " + std::to_string(limits.most);
}

void print_phase(std::ostream& out, const scenario& all, const std::vector<record>& records,
                 std::size_t phase) {
    const auto& p = all.phases[phase];
    const auto requests = records.front().of(all, phase);
    out << '\n'
        << p.name << ": " << duration(p.length) << ", " << counted(requests.all(), "request")
        << ", of which "
        << percentage(static_cast<std::size_t>(possible(all, phase, requests)), requests.all())
        << " could be answered\n"
        << std::left << std::setw(name_width) << "" << std::right << std::setw(figure_width)
        << "in time" << std::setw(figure_width) << "too late" << std::setw(figure_width) << "denied"
        << std::setw(limit_width) << "limit" << '\n';
    for (const auto& server : records) {
        const auto sum = server.of(all, phase);
        out << std::left << std::setw(name_width) << server.name << std::right;
        for (const auto part : {sum.in_time, sum.late, sum.denied})
            out << std::setw(figure_width) << percentage(part, sum.all());
        out << std::setw(limit_width) << text_of(limits(all, server, phase)) << '\n';
    }
}

constexpr double picture_width = 960;
constexpr double left = 152; ///< of the panels; the names are before them
constexpr double right = 936;
constexpr double first_row = 120;
constexpr double row_height = 164;
constexpr double bars_height = 88;
constexpr double gap = 10; ///< between the bars and what is inside
constexpr double inside_height = 42;
constexpr double axis_height = 36;

constexpr std::size_t bar_seconds = 2;
constexpr double bar_gap = 0.8;

constexpr std::string_view style = R"(<style>
  .late { fill: #59636e; fill: var(--faint); }
  .inside { fill: #d8dee4; fill: var(--grid); }
  .line { stroke: #1f2328; stroke: var(--ink); fill: none; stroke-width: 1.5; }
</style>
)";

/// The scales that all rows have.
struct scale {
    double seconds;
    double requests; ///< per second
    double inside;   ///< requests; more of them are cut off
};

scale make_scale(const scenario& all, const std::vector<record>& records) {
    scale s{.seconds = static_cast<double>(all.length().count()), .requests = 1, .inside = 1};
    for (const auto& p : all.phases)
        s.requests = std::max(s.requests, p.load * all.capacity() * 1.1);
    for (const auto& server : records)
        for (const auto& at : server.seconds)
            s.inside = std::max(s.inside, static_cast<double>(at.limit) * 1.1);
    return s;
}

plot make_plot(const scale& s, double bottom, double height, double most) {
    return {left, right, bottom - height, bottom, s.seconds, most};
}

/// Prints bars with a value of each `bar_seconds`.
void print_bars(std::ostream& out, plot in, const std::vector<layer>& layers) {
    in.steps /= bar_seconds;
    in.print_bars(out, bar_gap, layers);
}

void print_requests(std::ostream& out, const plot& in, const record& server) {
    std::vector<layer> layers{{"allowed", {}}, {"late", {}}, {"limited", {}}};
    for (std::size_t i = 0; i + bar_seconds <= server.seconds.size(); i += bar_seconds) {
        counts sum;
        for (std::size_t j = i; j < i + bar_seconds; ++j)
            sum += server.seconds[j].requests;
        std::size_t color = 0;
        for (const auto part : {sum.in_time, sum.late, sum.denied})
            layers[color++].values.push_back(static_cast<double>(part) / bar_seconds);
    }
    print_bars(out, in, layers);
}

void print_inside(std::ostream& out, const plot& in, const record& server) {
    layer inside{"inside", {}};
    for (std::size_t i = 0; i + bar_seconds <= server.seconds.size(); i += bar_seconds) {
        std::size_t most = 0;
        for (std::size_t j = i; j < i + bar_seconds; ++j)
            most = std::max(most, server.seconds[j].most_inside);
        inside.values.push_back(static_cast<double>(most));
    }
    print_bars(out, in, {inside});
    if (server.seconds.back().limit == 0)
        return;
    out << "<path class='line' d='";
    for (std::size_t i = 0; i < server.seconds.size(); ++i)
        out << (i == 0 ? 'M' : 'L') << in.x(static_cast<double>(i)) << ' '
            << in.y(static_cast<double>(server.seconds[i].limit));
    out << "'/>\n";
}

/// Prints the line of what the workers can serve, which changes with the phases.
void print_possible(std::ostream& out, const plot& in, const scenario& all) {
    out << "<path class='line' d='";
    double second = 0;
    for (const auto& p : all.phases) {
        out << (second == 0 ? 'M' : 'L') << in.x(second) << ' '
            << in.y(all.capacity() / p.slow_down);
        second += static_cast<double>(p.length.count());
        out << 'H' << in.x(second);
    }
    out << "'/>\n";
}

void print_row(std::ostream& out, const scale& s, const scenario& all, const record& server,
               double top) {
    const auto bars = make_plot(s, top + bars_height, bars_height, s.requests);
    const auto inside = make_plot(s, bars.bottom + gap + inside_height, inside_height, s.inside);
    print_requests(out, bars, server);
    print_possible(out, bars, all);
    print_inside(out, inside, server);
    bars.print_axis(out);
    inside.print_axis(out);

    std::size_t most = 0;
    for (const auto& at : server.seconds)
        most = std::max(most, at.most_inside);
    print_text(out, 24, top + 16, "start", "name", server.name);
    print_text(out, 24, top + 34, "start", "small", "requests per second");
    print_text(out, 24, top + 50, "start", "small", "line: can be served");
    print_text(out, 24, inside.bottom - 20, "start", "small",
               server.seconds.back().limit == 0 ? "requests inside" : "inside; line: limit");
    print_text(out, 24, inside.bottom - 4, "start", "small", "at most " + grouped(most));
}

void print_phases(std::ostream& out, const scale& s, const scenario& all, double bottom) {
    const auto in = make_plot(s, bottom, 0, 1);
    std::size_t second = 0;
    for (const auto& p : all.phases) {
        const auto x = in.x(static_cast<double>(second));
        print_line(out, "grid", x, first_row - 12, x, bottom);
        print_text(out, x + 4, 92, "start", "name", p.name);
        print_text(out, x + 4, 108, "start", "small",
                   std::to_string(std::lround(p.load * 100)) + " % of capacity");
        print_text(out, x, bottom + 18, "middle", "small",
                   second == 0 ? "0" : duration(std::chrono::seconds{second}));
        second += static_cast<std::size_t>(p.length.count());
    }
    print_text(out, right, bottom + 18, "end", "small", duration(all.length()));
}

} // namespace

std::string table(const scenario& all, const std::vector<record>& records) {
    std::ostringstream out;
    out << describe(all) << '\n';
    for (std::size_t phase = 0; phase < all.phases.size(); ++phase)
        print_phase(out, all, records, phase);
    return std::move(out).str();
}

std::string picture(const scenario& all, const std::vector<record>& records) {
    std::ostringstream out;
    const auto s = make_scale(all, records);
    const auto bottom = first_row + row_height * static_cast<double>(records.size()) - 20;
    begin_picture(out, picture_width, bottom + axis_height,
                  "A server with and without an adaptive limit", describe(all));
    out << style;
    print_legend(out, 24,
                 {{580, "allowed", "answered in time"},
                  {722, "late", "too late"},
                  {808, "limited", "denied at once"}});
    print_phases(out, s, all, bottom);
    for (std::size_t i = 0; i < records.size(); ++i)
        print_row(out, s, all, records[i], first_row + row_height * static_cast<double>(i));
    end_picture(out);
    return std::move(out).str();
}

} // namespace colimit::benchmark::overload

// SPDX-License-Identifier: BSL-1.0
//
// Each row has bars of the requests by their fate, with a line of what the workers can serve, and
// below the limit and the requests inside. All rows have the same scales.

#include <tool/frame/drawing.hpp>
#include <tool/frame/format.hpp>
#include <tool/overload/picture.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <sstream>
#include <string_view>

namespace tool::overload {
namespace {

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

    [[nodiscard]] double x(std::size_t second) const {
        return left + (right - left) * static_cast<double>(second) / seconds;
    }
};

/// A panel whose values grow upwards from its bottom.
struct panel {
    double bottom;
    double height;
    double most;

    [[nodiscard]] double y(double value) const {
        return bottom - height * std::min(value / most, 1.0);
    }
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

/// The bars [from, to) of one color.
void print_bar(std::ostream& out, const scale& s, const panel& in, std::size_t second, double from,
               double to) {
    if (to > from)
        out << 'M' << s.x(second) << ' ' << in.y(from) << 'V' << in.y(to) << 'H'
            << s.x(second + bar_seconds) - bar_gap << 'V' << in.y(from) << 'z';
}

void print_requests(std::ostream& out, const scale& s, const panel& in, const record& server) {
    std::array<std::ostringstream, 3> paths;
    for (std::size_t i = 0; i + bar_seconds <= server.seconds.size(); i += bar_seconds) {
        counts sum;
        for (std::size_t j = i; j < i + bar_seconds; ++j)
            sum += server.seconds[j].requests;
        double from = 0;
        std::size_t color = 0;
        for (const auto part : {sum.in_time, sum.late, sum.denied}) {
            const auto to = from + static_cast<double>(part) / bar_seconds;
            print_bar(paths.at(color++), s, in, i, from, to);
            from = to;
        }
    }
    constexpr std::array<std::string_view, 3> colors{"allowed", "late", "limited"};
    for (std::size_t i = 0; i < colors.size(); ++i)
        out << "<path class='" << colors.at(i) << "' d='" << paths.at(i).str() << "'/>\n";
}

void print_inside(std::ostream& out, const scale& s, const panel& in, const record& server) {
    out << "<path class='inside' d='";
    for (std::size_t i = 0; i + bar_seconds <= server.seconds.size(); i += bar_seconds) {
        std::size_t most = 0;
        for (std::size_t j = i; j < i + bar_seconds; ++j)
            most = std::max(most, server.seconds[j].most_inside);
        print_bar(out, s, in, i, 0, static_cast<double>(most));
    }
    out << "'/>\n";
    if (server.seconds.back().limit == 0)
        return;
    out << "<path class='line' d='";
    for (std::size_t i = 0; i < server.seconds.size(); ++i)
        out << (i == 0 ? 'M' : 'L') << s.x(i) << ' '
            << in.y(static_cast<double>(server.seconds[i].limit));
    out << "'/>\n";
}

/// Prints the line of what the workers can serve, which changes with the phases.
void print_possible(std::ostream& out, const scale& s, const panel& in, const scenario& all) {
    out << "<path class='line' d='";
    std::size_t second = 0;
    for (const auto& p : all.phases) {
        out << (second == 0 ? 'M' : 'L') << s.x(second) << ' '
            << in.y(all.capacity() / p.slow_down);
        second += static_cast<std::size_t>(p.length.count());
        out << 'H' << s.x(second);
    }
    out << "'/>\n";
}

void print_row(std::ostream& out, const scale& s, const scenario& all, const record& server,
               double top) {
    const panel bars{top + bars_height, bars_height, s.requests};
    const panel inside{bars.bottom + gap + inside_height, inside_height, s.inside};
    print_requests(out, s, bars, server);
    print_possible(out, s, bars, all);
    print_inside(out, s, inside, server);
    for (const auto& in : {bars, inside})
        print_line(out, "axis", left, in.bottom + 0.5, right, in.bottom + 0.5);

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
    std::size_t second = 0;
    for (const auto& p : all.phases) {
        const auto x = s.x(second);
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

void print_legend(std::ostream& out) {
    struct entry {
        double x;
        std::string_view color;
        std::string_view text;
    };
    for (const auto& [x, color, text] :
         {entry{580, "allowed", "answered in time"}, entry{722, "late", "too late"},
          entry{808, "limited", "denied at once"}}) {
        out << "<rect class='" << color << "' x='" << x << "' y='24' width='11' height='11'/>\n";
        print_text(out, x + 17, 34, "start", "number", text);
    }
}

} // namespace

std::string picture(const scenario& all, const std::vector<record>& records) {
    std::ostringstream out;
    const auto s = make_scale(all, records);
    const auto bottom = first_row + row_height * static_cast<double>(records.size()) - 20;
    begin_picture(out, picture_width, bottom + axis_height,
                  "A server with and without an adaptive limit", describe(all));
    out << style;
    print_legend(out);
    print_phases(out, s, all, bottom);
    for (std::size_t i = 0; i < records.size(); ++i)
        print_row(out, s, all, records[i], first_row + row_height * static_cast<double>(i));
    end_picture(out);
    return std::move(out).str();
}

} // namespace tool::overload

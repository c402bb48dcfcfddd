// SPDX-License-Identifier: BSL-1.0
//
// Two panels over one time axis, in whole pixels where that keeps lines sharp.

#include <tool/replay/svg.hpp>

#include <tool/frame/drawing.hpp>
#include <tool/frame/format.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>
#include <string_view>
#include <vector>

namespace tool::replay {

namespace {

constexpr double picture_width = 960;
constexpr double picture_height = 480;
constexpr double left = 72;
constexpr double right = 936;

constexpr std::size_t title_room = 48; // characters for the rules

struct panel {
    double top;
    double bottom;
};
constexpr panel upper{96, 272};
constexpr panel lower{312, 416};

/// Returns 1, 2 or 5 times a power of ten, such that at most five steps reach the peak.
std::size_t grid_step(std::size_t peak) {
    for (std::size_t power = 1;; power *= 10)
        for (const std::size_t factor : {1U, 2U, 5U})
            if (power * factor * 5 >= peak)
                return power * factor;
}

/// The scales of both axes: positions of times, and of numbers within one panel.
class scale {
  public:
    scale(const timeline& line, panel where, std::size_t peak)
        : line_(&line), where_(where), step_(grid_step(std::max<std::size_t>(peak, 1))),
          top_((std::max<std::size_t>(peak, 1) + step_ - 1) / step_ * step_) {}

    [[nodiscard]] double x(double steps) const {
        return left + (right - left) * steps / static_cast<double>(line_->requests.size());
    }
    [[nodiscard]] double x(std::chrono::sys_seconds time) const {
        return x(static_cast<double>((time - line_->start).count()) /
                 static_cast<double>(line_->step.count()));
    }
    /// Values above zero are always visible.
    [[nodiscard]] double y(std::size_t value) const {
        const auto height =
            (where_.bottom - where_.top) * static_cast<double>(value) / static_cast<double>(top_);
        return where_.bottom - (value == 0 ? 0 : std::max(height, 1.5));
    }

    void print_grid(std::ostream& out) const {
        for (std::size_t value = 0; value <= top_; value += step_) {
            const auto at = std::round(where_.bottom - (where_.bottom - where_.top) *
                                                           static_cast<double>(value) /
                                                           static_cast<double>(top_)) +
                            0.5;
            print_line(out, value == 0 ? "axis" : "grid", left, at, right, at);
            print_text(out, left - 8, at + 4, "end", "number", grouped(value));
        }
    }

    /// One path for all bars, each from one number up to another.
    void print_bars(std::ostream& out, std::string_view kind, const std::vector<std::size_t>& from,
                    const std::vector<std::size_t>& to) const {
        const auto gap = line_->requests.size() <= svg_steps / 2 ? 1.0 : 0.4;
        out << "<path class='" << kind << "' d='";
        for (std::size_t i = 0; i < to.size(); ++i)
            if (to[i] != from[i])
                out << 'M' << x(static_cast<double>(i)) << ' ' << y(from[i]) << 'V' << y(to[i])
                    << 'H' << x(static_cast<double>(i + 1)) - gap << 'V' << y(from[i]) << 'z';
        out << "'/>\n";
    }

  private:
    const timeline* line_;
    panel where_;
    std::size_t step_;
    std::size_t top_;
};

void print_upper(std::ostream& out, const timeline& line) {
    const scale all{line, upper, std::ranges::max(line.requests)};
    all.print_grid(out);
    auto granted = line.requests;
    for (std::size_t i = 0; i < granted.size(); ++i)
        granted[i] -= line.limited[i];
    all.print_bars(out, "allowed", std::vector<std::size_t>(granted.size()), granted);
    all.print_bars(out, "limited", granted, line.requests);
    print_text(out, left, upper.top - 10, "start", "name", "Requests in " + duration(line.step));
    out << "<rect class='allowed' x='" << right - 150 << "' y='" << upper.top - 20
        << "' width='11' height='11'/>\n"
        << "<rect class='limited' x='" << right - 68 << "' y='" << upper.top - 20
        << "' width='11' height='11'/>\n";
    print_text(out, right - 134, upper.top - 10, "start", "number", "allowed");
    print_text(out, right - 52, upper.top - 10, "start", "number", "limited");
}

void print_lower(std::ostream& out, const timeline& line) {
    const scale refused{line, lower, std::ranges::max(line.limited)};
    refused.print_grid(out);
    refused.print_bars(out, "limited", std::vector<std::size_t>(line.limited.size()), line.limited);
    print_text(out, left, lower.top - 10, "start", "name", "Limited, on its own scale");
    for (const auto& [time, label] : ticks(line, 8)) {
        const auto x = std::round(refused.x(time)) + 0.5;
        print_line(out, "axis", x, lower.bottom, x, lower.bottom + 5);
        print_text(out, std::clamp(x, left, right - 30), lower.bottom + 22, "middle", "number",
                   label);
    }
    print_text(out, right, lower.bottom + 46, "end", "number", "time in UTC");
}

} // namespace

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

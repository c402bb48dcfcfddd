// SPDX-License-Identifier: BSL-1.0
//
// In each line one character for a part of the time: how many requests were granted then, or that
// all of them were denied.

#include <tool/frame/format.hpp>
#include <tool/simulate/table.hpp>

#include <algorithm>
#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

namespace tool::simulate {

namespace {

constexpr std::size_t figures_width = 20;
/// Divisors of the steady traffic of the usual rules, so that it looks even.
constexpr std::array<std::size_t, 4> bin_counts{60, 30, 15, 6};
constexpr std::size_t heights = 8;

struct glyphs {
    std::array<std::string_view, heights> granted;
    std::string_view denied;
};
constexpr glyphs block_glyphs{{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "×"};
constexpr glyphs ascii_glyphs{{".", ".", ":", ":", "|", "|", "#", "#"}, "x"};

struct layout {
    std::size_t name_width;
    std::size_t bins;
    const glyphs* with;
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
            unicode ? &block_glyphs : &ascii_glyphs};
}

std::string strip(const bins& parts, const layout& form) {
    const auto peak = std::ranges::max(parts.requests);
    std::string text;
    for (std::size_t i = 0; i < parts.requests.size(); ++i) {
        if (parts.requests[i] == 0)
            text += ' ';
        else if (parts.granted[i] == 0)
            text += form.with->denied;
        else
            text += form.with->granted[(parts.granted[i] * heights + peak - 1) / peak - 1];
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

} // namespace

std::string table(const comparison& all, std::size_t columns, bool unicode) {
    const auto form = make_layout(all, columns, unicode);
    std::ostringstream out;
    const auto each = all.scenarios.length() / static_cast<std::int64_t>(form.bins);
    out << "each column is " << std::chrono::duration<double>(each).count() << " s; "
        << form.with->denied
        << " where all requests were denied; peak: the most that were allowed in any "
        << duration(std::chrono::ceil<std::chrono::seconds>(all.scenarios.period)) << '\n';
    for (std::size_t kind = 0; kind < all.scenarios.all.size(); ++kind)
        print_kind(out, all, kind, form);
    return std::move(out).str();
}

} // namespace tool::simulate

// SPDX-License-Identifier: BSL-1.0
//
// Requests as percentages of those of the phase.

#include <tool/frame/format.hpp>
#include <tool/overload/table.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace tool::overload {
namespace {

constexpr int name_width = 12;
constexpr int figure_width = 11;
constexpr int limit_width = 14;

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

} // namespace

limit_range limits(const scenario& all, const record& server, std::size_t phase) {
    const auto [first, last] = seconds_of(all, phase);
    const auto [least, most] =
        std::minmax_element(server.seconds.begin() + static_cast<std::ptrdiff_t>(first),
                            server.seconds.begin() + static_cast<std::ptrdiff_t>(last),
                            [](const second& a, const second& b) { return a.limit < b.limit; });
    return {least->limit, most->limit};
}

std::string table(const scenario& all, const std::vector<record>& records) {
    std::ostringstream out;
    out << describe(all) << '\n';
    for (std::size_t phase = 0; phase < all.phases.size(); ++phase)
        print_phase(out, all, records, phase);
    return std::move(out).str();
}

} // namespace tool::overload

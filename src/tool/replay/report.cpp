// SPDX-License-Identifier: BSL-1.0
//
// The report from top to bottom: the log, totals, the timeline, the clients.

#include <tool/replay/report.hpp>

#include <tool/frame/format.hpp>
#include <tool/replay/chart.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace tool::replay {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::seconds;
using std::chrono::sys_seconds;

void print_subject(std::ostream& out, const subject& what, const history& log) {
    const auto first = floor<seconds>(log.requests.front().time);
    const auto last = floor<seconds>(log.requests.back().time);
    out << "log        " << what.log << '\n'
        << "period     " << utc(first) << " to " << utc(last) << " UTC (" << duration(last - first)
        << ")\n";
    for (const auto& rule : what.rules)
        out << "rule       " << rule << '\n';
    out << "store      " << what.store << '\n';
    if (log.out_of_order != 0)
        out << "order      " << counted(log.out_of_order, "line")
            << " stood behind a later one and were sorted\n";
}

void print_unreadable(std::ostream& out, const history& log, std::size_t width) {
    if (log.unreadable == 0)
        return;
    out << "unreadable " << counted(log.unreadable, "line") << ", not counted below\n";
    for (const auto& line : log.first_unreadable) {
        out << "           line " << line.number << ' ' << line.problem << ":\n";
        const auto room = std::max<std::size_t>(width, 40) - 13;
        const auto fits = line.text.size() <= room;
        out << "             " << (fits ? line.text : line.text.substr(0, room - 3) + "...")
            << '\n';
    }
    if (log.unreadable > log.first_unreadable.size())
        out << "           and " << grouped(log.unreadable - log.first_unreadable.size())
            << " more\n";
}

void print_sums(std::ostream& out, const subject& what, const statistics& found) {
    const auto sum = [&out](std::string_view name, std::size_t number) -> std::ostream& {
        return out << std::left << std::setw(11) << name << std::right << std::setw(12)
                   << grouped(number);
    };
    const auto share = [&found](std::size_t part) { return percentage(part, found.requests); };
    sum("requests", found.requests) << '\n';
    sum("clients", found.clients) << '\n';
    const auto granted = found.requests - found.limited;
    sum("allowed", granted) << std::setw(11) << share(granted) << '\n';
    sum("limited", found.limited) << std::setw(11) << share(found.limited) << "   of "
                                  << counted(found.clients_limited.size(), "client") << '\n';
    if (found.unlimited != 0)
        sum("no policy", found.unlimited)
            << std::setw(11) << share(found.unlimited) << "   by the routes of the document\n";
    if (what.rules.size() < 2)
        return;
    for (std::size_t i = 0; i < what.rules.size(); ++i)
        sum("  by rule", found.limited_by_rule[i])
            << std::setw(11) << share(found.limited_by_rule[i]) << "   " << what.rules[i] << '\n';
}

void print_clients(std::ostream& out, const history& log, const statistics& found,
                   const layout& form) {
    if (found.limited == 0) {
        out << (found.unlimited == found.requests
                    ? "No route of the document limits any request of this log.\n"
                    : "No client would have been limited.\n");
        return;
    }
    const auto count = std::min(form.top, found.clients_limited.size());
    constexpr std::string_view title = "limited most";
    auto widest = title.size();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        const auto& name = log.clients[found.clients_limited[i].client];
        names.push_back(form.unicode ? shown(name) : escaped(name));
        widest = std::max(widest, columns_of(names.back()));
    }
    const auto padding = [&](std::string_view name) {
        return std::string(widest - columns_of(name), ' ');
    };

    // Within one day the date would be the same in every line; the year usually is.
    const auto same_day =
        floor<days>(log.requests.front().time) == floor<days>(log.requests.back().time);
    const auto time = [same_day](sys_seconds t) { return utc(t).substr(same_day ? 11 : 5); };
    const auto time_width = same_day ? 10 : 16;

    out << title << padding(title) << std::right << std::setw(10) << "requests" << std::setw(10)
        << "limited" << std::setw(11) << "share" << std::setw(time_width) << "first"
        << std::setw(time_width) << "last" << '\n';
    for (std::size_t i = 0; i < count; ++i) {
        const auto& client = found.clients_limited[i];
        out << names[i] << padding(names[i]) << std::right << std::setw(10)
            << grouped(client.requests) << std::setw(10) << grouped(client.limited) << std::setw(11)
            << percentage(client.limited, client.requests) << std::setw(time_width)
            << time(client.first_limited) << std::setw(time_width) << time(client.last_limited)
            << '\n';
    }
    if (count < found.clients_limited.size())
        out << "and " << counted(found.clients_limited.size() - count, "more client") << '\n';
}

} // namespace

std::string subject::joined_rules() const {
    std::string text;
    for (const auto& rule : rules)
        text += (text.empty() ? "" : "; ") + rule;
    return text;
}

std::string report(const subject& what, const history& log, const statistics& found,
                   const timeline& line, const layout& form) {
    std::ostringstream out;
    print_subject(out, what, log);
    print_unreadable(out, log, form.width);
    out << '\n';
    print_sums(out, what, found);
    out << '\n' << chart(line, form.width, form.unicode) << '\n';
    print_clients(out, log, found, form);
    return std::move(out).str();
}

} // namespace tool::replay

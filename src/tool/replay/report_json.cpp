// SPDX-License-Identifier: BSL-1.0
//
// Times are those of utc(); counts are numbers.

#include <tool/frame/format.hpp>
#include <tool/frame/output.hpp>
#include <tool/replay/report_json.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <chrono>

namespace tool::replay {

namespace {

namespace json = boost::json;

std::string second(colimit::time_point time) {
    return utc(std::chrono::floor<std::chrono::seconds>(time));
}

json::array rules_of(const subject& what, const statistics& found) {
    json::array rules;
    for (std::size_t i = 0; i < what.rules.size(); ++i)
        rules.push_back(
            json::object{{"rule", what.rules[i]}, {"denied", found.limited_by_rule[i]}});
    return rules;
}

json::array clients_of(const history& log, const statistics& found, std::size_t top) {
    json::array clients;
    for (std::size_t i = 0; i < std::min(top, found.clients_limited.size()); ++i) {
        const auto& c = found.clients_limited[i];
        clients.push_back(json::object{{"client", json_text(log.clients[c.client])},
                                       {"requests", c.requests},
                                       {"denied", c.limited},
                                       {"first_denied", utc(c.first_limited)},
                                       {"last_denied", utc(c.last_limited)}});
    }
    return clients;
}

json::array unreadable_lines(const history& log) {
    json::array lines;
    for (const auto& line : log.first_unreadable)
        lines.push_back(json::object{
            {"line", line.number}, {"text", line.text}, {"problem", json_text(line.problem)}});
    return lines;
}

} // namespace

json::object report_object(const subject& what, const history& log, const statistics& found,
                           std::size_t top) {
    return {{"log", what.log},
            {"store", what.store},
            {"first", second(log.requests.front().time)},
            {"last", second(log.requests.back().time)},
            {"requests", found.requests},
            {"denied", found.limited},
            {"unlimited", found.unlimited},
            {"rules", rules_of(what, found)},
            {"clients", found.clients},
            {"clients_denied", found.clients_limited.size()},
            {"clients_denied_most", clients_of(log, found, top)},
            {"out_of_order", log.out_of_order},
            {"unreadable", log.unreadable},
            {"first_unreadable", unreadable_lines(log)}};
}

} // namespace tool::replay

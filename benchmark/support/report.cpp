// SPDX-License-Identifier: BSL-1.0
//
// The table and the JSON. Other programs read the names in the JSON: do not change them.

#include <support/figure.hpp>
#include <support/report.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/src.hpp> // NOLINT: the library's body, which no other file here needs

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>

namespace colimit::benchmark {
namespace {

namespace json = boost::json;

/// Returns the largest deviation of a round from the median, in per cent of it.
[[nodiscard]] std::string spread(const result& r) {
    const auto middle = r.median.checks_per_s;
    const auto most = std::max(r.most_checks_per_s - middle, middle - r.least_checks_per_s);
    return text(100 * most / middle, 0);
}

[[nodiscard]] std::string ratio_text(const result& r) {
    return r.ratio ? text(r.ratio, 2) + " " + r.compared_with : "-";
}

[[nodiscard]] std::string percent_text(std::optional<double> share) {
    return text(share ? std::optional{*share * 100} : std::nullopt, 1);
}

using row = std::vector<std::string>;

[[nodiscard]] std::vector<row> rows_of(const report& r) {
    auto rows = std::vector<row>{{"name", "checks/s", "+-%", "ratio to", "server us", "client us",
                                  "allocs", "bytes/key", "leased %", "allowed %", "p50 us",
                                  "p99 us", "p99.9 us", "max us"}};
    for (const auto& each : r.results) {
        const auto& m = each.median;
        rows.push_back({each.name, grouped(m.checks_per_s), spread(each), ratio_text(each),
                        text(m.server_us_per_check, 2), text(m.client_us_per_check, 3),
                        text(m.allocations_per_check, 4), text(m.bytes_per_key, 0),
                        percent_text(m.leased_share), percent_text(m.allowed_share),
                        text(m.p50_us, 1), text(m.p99_us, 1), text(m.p999_us, 1),
                        text(m.max_us, 1)});
    }
    return rows;
}

[[nodiscard]] json::value number(std::optional<double> value) {
    return value && std::isfinite(*value) ? json::value(*value) : json::value(nullptr);
}

[[nodiscard]] json::object object_of(const result& r) {
    const auto& m = r.median;
    const auto ratio = number(r.ratio);
    const auto is_to_reference = r.compared_with == "reference";
    auto o = json::object{{"name", r.name},
                          {"checks_per_s", m.checks_per_s},
                          {"ratio_to_reference", is_to_reference ? ratio : json::value(nullptr)},
                          {"server_us_per_check", number(m.server_us_per_check)},
                          {"client_us_per_check", number(m.client_us_per_check)},
                          {"allocations_per_check", number(m.allocations_per_check)},
                          {"p50_us", number(m.p50_us)},
                          {"p99_us", number(m.p99_us)},
                          {"p999_us", number(m.p999_us)},
                          {"max_us", number(m.max_us)},
                          {"load_per_s", number(m.load_per_s)},
                          {"keys_per_batch", number(m.keys_per_batch)},
                          {"bytes_per_key", number(m.bytes_per_key)},
                          {"leased_share", number(m.leased_share)},
                          {"allowed_share", number(m.allowed_share)},
                          {"rounds", r.rounds},
                          {"checks_per_s_least", r.least_checks_per_s},
                          {"checks_per_s_most", r.most_checks_per_s}};
    if (!is_to_reference && !r.compared_with.empty())
        o["ratio_to_" + r.compared_with] = ratio;
    return o;
}

} // namespace

void print_table(std::ostream& out, const report& r) {
    const auto rows = rows_of(r);
    auto widths = std::vector<int>(rows.front().size());
    for (const auto& each : rows)
        for (auto i = std::size_t{0}; i < each.size(); ++i)
            widths[i] = std::max(widths[i], static_cast<int>(each[i].size()));
    for (auto line = std::size_t{0}; line < rows.size(); ++line) {
        for (auto i = std::size_t{0}; i < rows[line].size(); ++i)
            out << (i == 0 ? "| " : " | ") << (i == 0 ? std::left : std::right)
                << std::setw(widths[i]) << rows[line][i];
        out << " |\n";
        for (auto i = std::size_t{0}; line == 0 && i < widths.size(); ++i)
            out << "|" << std::string(static_cast<std::size_t>(widths[i]) + 1, '-')
                << (i == 0 ? "-" : ":");
        out << (line == 0 ? "|\n" : "");
    }
    out << '\n'
        << r.date << ", revision " << r.revision << ", " << r.compiler << ", Boost " << r.boost
        << ", " << r.server << '\n'
        << r.machine << ", load average before " << text(r.load_average_before, 2) << '\n';
    for (const auto& each : r.left_out)
        out << "left out: " << each << '\n';
    for (const auto& warning : r.warnings)
        out << "warning: " << warning << '\n';
}

void write_json(std::ostream& out, const report& r) {
    auto results = json::array{};
    for (const auto& each : r.results)
        results.push_back(object_of(each));
    const auto all = json::object{{"machine", r.machine},
                                  {"date", r.date},
                                  {"revision", r.revision},
                                  {"compiler", r.compiler},
                                  {"boost", r.boost},
                                  {"server", r.server},
                                  {"load_average_before", r.load_average_before},
                                  {"seconds_per_round", r.seconds_per_round},
                                  {"rounds", r.rounds},
                                  {"warnings", json::array(r.warnings.begin(), r.warnings.end())},
                                  {"left_out", json::array(r.left_out.begin(), r.left_out.end())},
                                  {"results", results}};
    out << json::serialize(all) << '\n';
}

} // namespace colimit::benchmark

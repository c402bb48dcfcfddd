// SPDX-License-Identifier: BSL-1.0
//
// Writes samples and numbers; `metrics.cpp` and `source_metrics.cpp` say which.
#include <api/metric_text.hpp>

namespace colimit {

using std::chrono::microseconds;

std::string seconds(microseconds time) {
    constexpr auto per_second = 1'000'000;
    const auto part = std::to_string(per_second + time.count() % per_second);
    return std::to_string(time.count() / per_second) + "." + part.substr(1);
}

std::string seconds(std::chrono::system_clock::time_point at) {
    return seconds(std::chrono::duration_cast<microseconds>(at.time_since_epoch()));
}

metric::metric(std::string& out, std::string_view name, std::string_view type,
               std::string_view help)
    : out_(out), name_(name) {
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    out_.append(name).append(" ").append(type).append("\n");
}

void metric::add(std::string_view labels, std::string_view value, std::string_view suffix) {
    out_.append(name_).append(suffix);
    if (!labels.empty())
        out_.append("{").append(labels).append("}");
    out_.append(" ").append(value).append("\n");
}

void metric::add(std::string_view labels, std::uint64_t value, std::string_view suffix) {
    add(labels, std::to_string(value), suffix);
}

} // namespace colimit

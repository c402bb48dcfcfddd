// SPDX-License-Identifier: BSL-1.0
//
// The text format of Prometheus: one metric, and numbers.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace colimit {

/// Returns seconds, with as many digits as microseconds need.
[[nodiscard]] std::string seconds(std::chrono::microseconds time);
/// Returns the Unix time in seconds.
[[nodiscard]] std::string seconds(std::chrono::system_clock::time_point at);

/// Writes one metric.
class metric {
  public:
    metric(std::string& out, std::string_view name, std::string_view type, std::string_view help);

    /// @param labels as pairs in the text's form, with a comma between them
    void add(std::string_view labels, std::string_view value, std::string_view suffix = "");
    void add(std::string_view labels, std::uint64_t value, std::string_view suffix = "");

  private:
    std::string& out_;
    std::string_view name_;
};

} // namespace colimit

// SPDX-License-Identifier: BSL-1.0
//
// A progress bar on stderr: only on a terminal, and only for work that takes long.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tool::replay {

class progress {
  public:
    /// @param is_wanted whether the bar is shown
    explicit progress(bool is_wanted) noexcept : is_wanted_(is_wanted) {}

    /// @param total in any unit; 0 if it is not known
    void begin(std::string_view what, std::uint64_t total);
    void advance(std::uint64_t done);
    /// Removes the bar.
    void end();

  private:
    using clock = std::chrono::steady_clock;

    bool is_wanted_;
    bool is_shown_ = false;
    std::string what_;
    std::uint64_t total_ = 0;
    clock::time_point next_;
};

} // namespace tool::replay

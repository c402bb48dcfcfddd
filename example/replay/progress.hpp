// SPDX-License-Identifier: BSL-1.0
//
// A progress bar on stderr: only on a terminal, and only for work that takes long enough to wonder.

#ifndef COLIMIT_EXAMPLE_REPLAY_PROGRESS_HPP
#define COLIMIT_EXAMPLE_REPLAY_PROGRESS_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace replay {

class progress {
  public:
    /// @param is_wanted whether there is somebody to see it
    explicit progress(bool is_wanted) noexcept : is_wanted_(is_wanted) {}

    /// @param total in any unit; 0 when it is not known
    void begin(std::string_view what, std::uint64_t total);
    void advance(std::uint64_t done);
    /// Takes the bar away.
    void end();

  private:
    using clock = std::chrono::steady_clock;

    bool is_wanted_;
    bool is_shown_ = false;
    std::string what_;
    std::uint64_t total_ = 0;
    clock::time_point next_;
};

} // namespace replay

#endif

// SPDX-License-Identifier: BSL-1.0
//
// The processes of one round of the oracle.

#pragma once

#include "caller.hpp"

#include <sys/types.h>

#include <optional>
#include <vector>

namespace colimit::oracle {

class processes {
  public:
    /// Runs a task in a process of its own.
    /// @param mistake if it is to be made by commands written by hand
    void start(const task& t, const std::optional<flaw>& mistake);
    /// Returns whether all have ended.
    [[nodiscard]] bool have_ended();
    /// How many ended with an error, and perhaps without some records.
    [[nodiscard]] int failed() const noexcept { return failed_; }

  private:
    std::vector<pid_t> running_;
    int failed_ = 0;
};

} // namespace colimit::oracle

// SPDX-License-Identifier: BSL-1.0
//
// Processes that the oracle forks.

#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace colimit::oracle {

/// From now on this process is killed when the one that forked it ends: nothing else would end it.
void end_with_parent();

class processes {
  public:
    /// Runs `work` in a process of its own, which ends with its parent.
    void start(int number, const std::function<void()>& work);
    /// Returns whether all have ended.
    [[nodiscard]] bool have_ended();
    /// How many ended with an error, and perhaps without some records.
    [[nodiscard]] int failed() const noexcept { return failed_; }

    /// Ends all at once, as a crash would. They do not count as failed.
    void kill();
    /// Halts all, or ends the halt.
    void stop() const;
    void cont() const;

  private:
    void send(int signal) const;

    std::vector<pid_t> running_;
    int failed_ = 0;
};

} // namespace colimit::oracle

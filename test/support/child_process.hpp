// SPDX-License-Identifier: BSL-1.0
//
// A program, or a function, that a test runs in a process of its own: it ends with the test,
// however that ends.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace colimit::test {

/// From now on this process is killed when the one that forked it ends: nothing else would end it.
void end_with_parent();

class child_process {
  public:
    child_process() = default;
    ~child_process() { kill(); }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// Starts the program `words[0]`, which is searched for in PATH, with these variables besides
    /// those of this process. It does not run yet.
    void start(std::vector<std::string> words, const std::vector<std::string>& variables = {});
    /// Starts a process that only runs `work`. What that throws is printed. It has all sockets of
    /// this process, which must not have started a thread.
    void start(const std::function<void()>& work);
    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    /// Returns whether it has just ended by itself; then it does not run any more.
    [[nodiscard]] bool has_ended();
    /// Returns whether it has ended by itself with an error.
    [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
    /// Ends it at once, as a crash would.
    void kill();
    /// Halts it: its sockets take connections and bytes (the kernel does), and it answers nothing.
    void stop();
    /// Ends the halt.
    void cont();

  private:
    /// In the child, it does not return.
    template<class Work>
    void fork(Work work);

    pid_t pid_ = -1;
    bool has_failed_ = false;
};

/// Returns a random port of 127.0.0.1 that nothing listens on. The system does not give it away
/// while a server is down or refuses connections, as it is below the range for connections and for
/// listeners that name no port (32,768 and above on Linux). Another test may choose the same port:
/// the one that then cannot listen on it asks again.
[[nodiscard]] std::uint16_t free_port();

} // namespace colimit::test

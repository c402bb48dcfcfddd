// SPDX-License-Identifier: BSL-1.0
//
// A program that a test runs: it ends with the test, however that ends.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace colimit::test {

class child_process {
  public:
    child_process() = default;
    ~child_process() { kill(); }
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;

    /// Starts the program `words[0]`, which is searched for in PATH, with these variables besides
    /// those of this process. It does not run yet.
    void start(std::vector<std::string> words, const std::vector<std::string>& variables = {});
    [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
    /// Whether it has ended by itself.
    [[nodiscard]] bool has_ended();
    /// Ends it at once, as a crash would.
    void kill();
    /// Halts it: its sockets take connections and bytes (the kernel does), and it answers nothing.
    void stop();
    /// Ends the halt.
    void cont();

  private:
    pid_t pid_ = -1;
};

/// Returns a random port of 127.0.0.1 that nothing listens on. The system does not give it away
/// while a server is down or refuses connections, as it is below the range for connections and for
/// listeners that name no port (32,768 and above on Linux). Another test may choose the same port:
/// the one that then cannot listen on it asks again.
[[nodiscard]] std::uint16_t free_port();

} // namespace colimit::test

// SPDX-License-Identifier: BSL-1.0
//
// Short commands to the server outside of the measurement: its processor time, its version,
// deleting its keys. Each opens a connection and waits for the replies.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace colimit::benchmark {

class server {
  public:
    /// @param socket the path of its unix socket
    explicit server(std::string socket);

    /// Sends a command, and returns the text of the reply.
    /// @throws std::runtime_error if the server does not reply, or replies with an error
    std::string ask(std::initializer_list<std::string_view> words) const;

    /// Returns the processor time that it has used, including the kernel's.
    [[nodiscard]] double cpu_seconds() const;
    /// Returns the memory that it has allocated.
    [[nodiscard]] double bytes_in_use() const;
    [[nodiscard]] std::string version() const;
    [[nodiscard]] int process() const;
    /// Deletes all keys, so that those of one scenario cost the next one nothing.
    void forget_keys() const;
    /// Returns the memory that a key takes on average, with its name and its TTL. Deletes all keys.
    [[nodiscard]] double bytes_of_each_key() const;
    /// Loads the library of functions that this build would install.
    void load_functions() const;
    /// Returns the script's SHA-1.
    [[nodiscard]] std::string load_script(std::string_view body) const;

  private:
    [[nodiscard]] std::string info(std::string_view section, std::string_view field) const;

    std::string socket_;
};

} // namespace colimit::benchmark

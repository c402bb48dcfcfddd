// SPDX-License-Identifier: BSL-1.0
//
// Short talks with the server besides what is measured: what it has used, what it is, a clean
// start. Each opens a connection of its own and waits for the answers.

#ifndef COLIMIT_BENCHMARK_SUPPORT_SERVER_HPP
#define COLIMIT_BENCHMARK_SUPPORT_SERVER_HPP

#include <initializer_list>
#include <string>
#include <string_view>

namespace colimit::benchmark {

class server {
  public:
    /// @param socket the path of its unix socket
    explicit server(std::string socket);

    /// Sends a command, and gives back the text of the reply.
    /// @throws std::runtime_error when the server does not answer, or answers with an error
    std::string ask(std::initializer_list<std::string_view> words) const;

    /// The processor time that it has used, in the kernel too.
    [[nodiscard]] double cpu_seconds() const;
    [[nodiscard]] std::string version() const;
    [[nodiscard]] int process() const;
    /// Forgets all keys, so that those of one question cost the next one nothing.
    void forget_keys() const;
    /// Returns the script's SHA-1.
    [[nodiscard]] std::string load_script(std::string_view body) const;

  private:
    [[nodiscard]] std::string info(std::string_view section, std::string_view field) const;

    std::string socket_;
};

} // namespace colimit::benchmark

#endif

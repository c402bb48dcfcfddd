// SPDX-License-Identifier: BSL-1.0
//
// Makes the same commands with the module in one database of a server and with the scripts in
// another one, while the clock of the server stands still: their replies, and all that they have
// stored, must be equal to the last byte and millisecond. What the module refuses no client may
// send, and the script does not check.

#pragma once

#include <server_module/choices.hpp>
#include <server_module/hostile_commands.hpp>
#include <support/raw_client.hpp>
#include <support/redis_server.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace colimit::test {

class script_twin {
  public:
    /// @param loading the arguments of redis-server that load the module
    script_twin(words loading, std::uint64_t seed);

    /// @throws std::runtime_error with the command after which they differ
    void run(std::size_t commands);

    /// Returns how many commands the module has executed.
    [[nodiscard]] std::size_t executed() const noexcept { return executed_; }

  private:
    void choose_state();
    void make(const words& command);
    void require_equal_keys();
    [[noreturn]] void fail(const std::string& what, const std::string& of_module,
                           const std::string& of_script) const;

    redis_server server_;
    raw_client module_; ///< in database 0
    raw_client script_; ///< in database 1
    choices choices_;
    std::int64_t now_us_;
    bool is_full_ = false;
    words last_;
    std::size_t executed_ = 0;
};

} // namespace colimit::test

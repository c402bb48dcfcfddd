// SPDX-License-Identifier: BSL-1.0
//
// Hostile commands for the module in a fake server. After each command: all that it has changed was
// reported as modified and is at the replica, too, and no key that it has written is without a TTL.

#pragma once

#include <server_module/choices.hpp>
#include <server_module/fake_server.hpp>

#include <cstddef>

namespace colimit::test::fake {

class trial {
  public:
    /// @param from every choice, also which commands there are
    explicit trial(choices from);

    /// Makes a command. Ends the process after an error.
    void step();
    /// Returns whether bytes that decide the choices have been used up.
    [[nodiscard]] bool is_over() const noexcept { return from_.are_over(); }
    /// Returns how many of the commands were executed.
    [[nodiscard]] std::size_t executed() const noexcept { return executed_; }

  private:
    void choose_state();
    void plant(words command);
    [[noreturn]] void fail(const std::string& key, const std::string& what) const;
    void check_signals() const;
    void follow();

    choices from_;
    bool propagates_commands_;
    server master_;
    server replica_;
    bool has_replica_ = false;
    words last_; ///< of the commands for the module
    std::size_t executed_ = 0;
};

} // namespace colimit::test::fake

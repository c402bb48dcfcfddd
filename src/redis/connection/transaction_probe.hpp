// SPDX-License-Identifier: BSL-1.0
//
// Tests whether the user may run the commands of transactions, as lua/probe does for scripts.
//
//     MULTI   each command, on a key that does not exist   ZADD   EXEC
//
// The server refuses a command without permission when it is queued. Nothing is executed, because
// the last ZADD has no arguments and EXEC therefore aborts. DISCARD is not used, because
// transactions do not need it and the user may not have it. If the user may not run MULTI, the
// commands are executed, and change nothing as the key does not exist. A user who may not access
// the key may run the command, as servers check that first.
//
// ACL DRYRUN is newer than Redis 6.2 and needs a permission itself.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace colimit::redis {

class transaction_probe {
  public:
    /// The number of its commands, each of which has a reply.
    static constexpr std::size_t commands = 19;

    /// Starts a new test and appends the commands.
    void append(std::string& out, std::string_view key);

    /// Reads the next reply. Returns true if it was the last one.
    /// @param error the text of an error reply; empty for any other reply
    [[nodiscard]] bool read_reply(std::string_view error);

    /// Returns the server's first refusal of a command that every `allow` needs, followed by the
    /// names of all such commands that were refused; empty if there is none.
    [[nodiscard]] std::string refusal() const {
        return needed_.empty() ? "" : first_refusal_ + "; denied commands: " + needed_;
    }
    /// Returns the refused commands that only some calls need, separated by spaces.
    [[nodiscard]] const std::string& denied_optional() const noexcept { return denied_optional_; }
    /// Returns the server's message if the user may not access the key or, otherwise, if the server
    /// is read-only.
    [[nodiscard]] const std::string& error() const noexcept {
        return key_error_.empty() ? read_only_ : key_error_;
    }

  private:
    std::size_t replies_ = 0;
    std::string first_refusal_;
    std::string needed_;
    std::string denied_optional_;
    std::string read_only_;
    std::string key_error_;
};

} // namespace colimit::redis

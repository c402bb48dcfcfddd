// SPDX-License-Identifier: BSL-1.0
//
// The keys that a server spends most time on, from HOTKEYS of Redis 8.6 and later. Unlike stored
// states they show denied calls, too. The server counts for a session, of which it has one at a
// time: one that is in progress already is left alone, and one of colimit ends with its round or,
// if that is not possible, by itself.

#pragma once

#include <tool/server/servers.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tool {

class hot_keys {
  public:
    explicit hot_keys(servers& of) : servers_(of), is_used_(of.count(), true) {}

    /// Starts a session on each server that has the command and lets the user run it.
    /// @param length after which the server ends it in any case
    void start(std::chrono::seconds length);
    /// Ends all sessions, and returns the names of keys, those with the most time first.
    [[nodiscard]] std::vector<std::string> stop();

  private:
    servers& servers_;
    std::vector<bool> is_used_; ///< by server; false after an error
    bool is_started_ = false;
};

/// Returns the names of a reply to HOTKEYS GET.
[[nodiscard]] std::vector<std::string> names_in(const reply& hot_keys);

} // namespace tool

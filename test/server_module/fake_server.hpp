// SPDX-License-Identifier: BSL-1.0
//
// A server in this process that loads the module: it has the functions of the module interface, and
// keys in memory. It ends the process if a function is used in a way that servers do not define: a
// reply that is not complete, a key or reply that is not closed, a string that is freed twice.

#pragma once

#include <server_module/fake_data.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::test::fake {

/// What the server says of itself to a command: the bits are those of GetContextFlags.
inline constexpr int from_script = 1 << 0;
inline constexpr int in_transaction = 1 << 1;
inline constexpr int is_replica = 1 << 3;
inline constexpr int in_cluster = 1 << 5;
inline constexpr int has_aof = 1 << 6;
inline constexpr int is_over_maxmemory = 1 << 10;
inline constexpr int from_master = 1 << 12;
inline constexpr int is_loading = 1 << 13;

class server {
  public:
    /// @param lacks names of functions that the server does not have
    explicit server(std::set<std::string> lacks = {});
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server();

    /// MODULE LOAD. Several servers may load it, with the same arguments.
    [[nodiscard]] bool load(const words& arguments = {});
    /// Another module has a command of this name.
    void occupy(const std::string& command);
    /// MODULE UNLOAD.
    [[nodiscard]] bool unload();

    /// Runs a command of the module as the server does for a client: it refuses some. Returns the
    /// bytes that a client with the older protocol gets.
    std::string run(const words& command);
    /// Returns the keys of a command, as the server finds them without key specifications.
    [[nodiscard]] std::vector<int> keys_of(const words& command);
    /// Runs any command that was propagated.
    void repeat(const words& command);
    [[nodiscard]] bool has(const std::string& command) const;
    /// Returns how a command was registered: its flags, and the position of its first key.
    [[nodiscard]] std::string flags_of(const std::string& command) const;

    /// Fires an event of the server.
    void fire(std::uint64_t event, std::uint64_t subevent);
    /// A replica connects: the server has a backlog from then on, and forks.
    void accept_replica();

    data keys;
    int flags = 0;                ///< of the context
    bool is_full = false;         ///< refuses commands that need memory
    bool has_backlog = false;     ///< for replicas
    words users;                  ///< ACL LIST
    std::set<std::string> denied; ///< commands, in lower case, that scripts may not run
    std::int64_t now_us = 1'700'000'000'000'000; ///< its clock, which only its owner changes
    [[nodiscard]] std::int64_t now_ms() const { return now_us / 1'000; }

    // Of the last command.
    std::vector<words> propagated;   ///< to replicas and the AOF, if there are any
    std::set<std::string> signalled; ///< keys that the module has reported as modified
    int dirty = 0;                   ///< how often the dataset was reported as changed

    std::string log;
    int options = 0; ///< of SetModuleOptions
    int calls = 0;   ///< of RM_Call, ever

  private:
    friend struct functions;
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace colimit::test::fake

// SPDX-License-Identifier: BSL-1.0
//
// A Redis server in the simulated world, with the scripts and the server module. A scenario orders
// what happens to it.
//
//     auto server = fake_redis{net};
//     auto l = test::live{context, server.url()};
//     after(1s, [&] { server.kill(); });

#pragma once

#include <server_module/fake_server.hpp>
#include <simulation/script_node.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::scenario {

class fake_redis final : public simulation::script_node {
  public:
    explicit fake_redis(simulation::network& of,
                        simulation::place where = {0x0a000001, 6379}, // 10.0.0.1
                        simulation::slot_rules* rules = nullptr);

    /// Returns the address for config::server.
    [[nodiscard]] std::string url(std::string_view credentials = {},
                                  std::string_view scheme = "redis://") const;
    /// It is the only node of a cluster from now on.
    void serve_all_slots();

    void restart() {
        kill();
        start();
    }
    /// It takes connections and bytes, as the system does for a stopped process, and replies
    /// nothing until `thaw`.
    void stop() { freeze(simulation::never / 4); }
    /// On its connections nothing passes any more, without a sign of it; new ones are made.
    void lose_connections();
    /// From now on nothing passes on new connections either.
    void fall_silent();

    bool is_full = false;      ///< over its `maxmemory`
    bool is_read_only = false; ///< a replica, which refuses writes
    bool keeps_data = false;   ///< over its end, as with an AOF
    /// An error reply to all commands that a server refuses then; LOADING, BUSY, MASTERDOWN.
    std::string condition;
    std::string password;         ///< empty: clients need none
    std::set<std::string> denied; ///< commands, in lower case, that the user may not run
    /// Called before each command; returns the error reply to it, or nothing. May be empty.
    std::function<std::string(simulation::words)> refuses;

    /// Executes a command at once, as for a client of its own, and returns the bytes of its reply.
    std::string run(std::initializer_list<std::string_view> command);

    /// Returns how often it has executed a command, whose name is in lower case.
    [[nodiscard]] std::int64_t calls_of(std::string_view command) const;
    /// Returns how many commands it has got of which it has executed none of the effects.
    [[nodiscard]] std::int64_t refusals() const noexcept { return refusals_; }
    /// Returns how many connections were made.
    [[nodiscard]] std::int64_t connections() const noexcept { return connections_; }

    void on_connect() override;

    std::vector<std::string> log; ///< the commands, in lower case, with those of handshakes
    /// When clients tried to connect, by the steady clock.
    std::vector<std::chrono::microseconds> attempts;

  protected:
    std::int64_t execute(simulation::session& of, simulation::words command,
                         std::string& out) override;
    void clear() override;

  private:
    [[nodiscard]] std::string refusal(const simulation::session& of, const std::string& name,
                                      simulation::words command) const;
    std::int64_t perform(simulation::session& of, const std::string& name,
                         simulation::words command, std::string& out);
    bool greet_client(simulation::session& of, const std::string& name, simulation::words command,
                      std::string& out);
    void authenticate(simulation::session& of, std::string_view given, std::string& out);
    void run_transaction(simulation::session& of, const std::string& name,
                         simulation::words command, std::string& out);
    [[nodiscard]] std::string refusal_of_data(const std::string& name) const;
    void run_data(const std::string& name, simulation::words command, std::string& out);

    [[nodiscard]] bool refuses_writes() const noexcept override {
        return is_read_only || !is_master();
    }

    std::unique_ptr<simulation::slot_rules> own_rules_;
    std::map<std::string, std::int64_t, std::less<>> calls_;
    std::int64_t refusals_ = 0;
    std::int64_t connections_ = 0;
};

} // namespace colimit::scenario

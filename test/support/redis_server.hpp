// SPDX-License-Identifier: BSL-1.0
//
// A private redis-server for the duration of a test: on a unix socket in a fresh folder, and on a
// free port of 127.0.0.1 on request. It keeps nothing on disk, it ends with the test even when the
// test crashes, and other servers are not touched.
//
// Every server loads the module that the environment variable COLIMIT_TEST_MODULE names, unless its
// arguments are about modules, or it is a Valkey whose clock is stepped.
//
//     redis_server server;
//     limiter l{executor, server.address()};
//     auto look = server.connect();
//     BOOST_TEST(look.pttl("colimit:{mm}:login:k:ann") > 0);

#pragma once

#include <support/certificates.hpp>
#include <support/child_process.hpp>
#include <support/fresh_folder.hpp>
#include <support/raw_client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colimit::test {

struct redis_server_options {
    /// Also listens on a free port of `host`, and `address` is that one.
    bool tcp = false;
    /// An address of this machine; with another one than this, connections that the server makes
    /// come from it, too.
    std::string host = "127.0.0.1";
    /// With tcp: over TLS only, with this identity.
    std::optional<identity> tls = {};
    /// Whose certificates it takes, if clients must have one.
    std::string tls_clients = {};
    /// `set_clock`, `stop_clock` and `halt_at_each_reading` may be called.
    bool can_step_clock = false;
    /// Further arguments of redis-server: `{"--requirepass", "secret"}`.
    std::vector<std::string> arguments = {};
};

class redis_server {
  public:
    using options = redis_server_options;

    /// Starts it and waits until it answers, at most ten seconds.
    /// @throws std::runtime_error with the server's log when it does not.
    explicit redis_server(options wanted = {});

    /// For config::server.
    [[nodiscard]] std::string address() const;
    [[nodiscard]] std::string unix_address() const { return "unix:" + socket(); }
    [[nodiscard]] std::string socket() const { return folder_.path() + "/socket"; }
    /// 0 without tcp.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] const std::string& folder() const noexcept { return folder_.path(); }
    [[nodiscard]] std::string log() const;

    /// A connection to its socket, without a password.
    [[nodiscard]] raw_client connect() const { return raw_client{unix_address()}; }

    /// Sets the server's clock forward, or back, compared to this machine's: in all by `offset`. A
    /// server that runs tells this time then.
    void set_clock(std::chrono::microseconds offset);
    /// Stops the server's clock at this time since 1970.
    void stop_clock(std::chrono::microseconds time);
    /// Lets the server's clock go on by so much whenever it is read, as if the machine was halted
    /// before each reading.
    void halt_at_each_reading(std::chrono::microseconds time);

    /// Ends it at once, as a crash would; its connections are reset. All it knew is gone.
    void kill() { process_.kill(); }
    /// Starts it again, empty, on the same socket and port.
    void start();
    void restart() {
        kill();
        start();
    }
    /// Halts it: it takes connections and bytes (the kernel does), and answers nothing.
    void stop() { process_.stop(); }
    /// Ends the halt.
    void cont() { process_.cont(); }

  private:
    [[nodiscard]] bool launch();
    void write_clock(std::chrono::microseconds offset, std::chrono::microseconds stands_at,
                     std::chrono::microseconds halt) const;
    [[nodiscard]] std::vector<std::string> arguments() const;
    [[nodiscard]] std::vector<std::string> environment() const;

    options wanted_;
    fresh_folder folder_;
    std::uint16_t port_ = 0;
    child_process process_;
};

} // namespace colimit::test

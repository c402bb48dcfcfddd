// SPDX-License-Identifier: BSL-1.0
//
// A master with two replicas, and three Sentinels that watch them: real processes on free ports of
// 127.0.0.1, or of addresses of their own. A master that does not answer for half a second is
// replaced.
//
//     sentinel_group group;
//     limiter l{executor, group.address()};
//     group.server(group.named_by(0)).kill();

#pragma once

#include <support/fresh_folder.hpp>
#include <support/redis_server.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colimit::test {

/// One Sentinel.
class sentinel {
  public:
    struct settings {
        std::string master_host;
        std::uint16_t master_port;
        std::vector<std::string> lines; ///< further ones of its configuration
        bool tls = false;               ///< `lines` have the certificate
        std::string look_as = {};       ///< `user:password@` of `connect`
        std::string host = "127.0.0.1";
    };
    explicit sentinel(settings wanted);

    [[nodiscard]] const std::string& host() const noexcept { return wanted_.host; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string log() const;
    /// On its unix socket.
    [[nodiscard]] raw_client connect() const {
        return raw_client{"unix://" + wanted_.look_as + folder_.path() + "/socket"};
    }
    void kill() { process_.kill(); }
    /// Starts it again: it knows what it has written into its configuration.
    void start();
    void stop() { process_.stop(); }
    void cont() { process_.cont(); }

  private:
    [[nodiscard]] bool launch();
    void write_configuration() const;

    settings wanted_;
    fresh_folder folder_;
    std::uint16_t port_ = 0;
    child_process process_;
};

struct sentinel_group_options {
    std::size_t sentinels = 3;
    std::size_t replicas = 2;
    /// Over TLS only, with this identity, which `authority` has signed.
    std::optional<identity> tls = {};
    std::string authority = {};
    /// Further arguments of each redis-server, and lines of each Sentinel.
    std::vector<std::string> arguments = {};
    std::vector<std::string> lines = {};
    /// `user:password@` with which the tests look at Sentinels.
    std::string look_as = {};
    /// Servers and then Sentinels are at 127.0.0.2 and the following addresses, instead of all
    /// being at 127.0.0.1: for partitions.
    bool own_hosts = false;
};

class sentinel_group {
  public:
    using options = sentinel_group_options;
    explicit sentinel_group(options wanted = {});

    /// For config::server, with all Sentinels.
    [[nodiscard]] std::string address() const;
    /// `host:port,host:port`
    [[nodiscard]] std::string hosts() const;
    [[nodiscard]] redis_server& server(std::size_t i) { return *servers_.at(i); }
    /// The address of a server.
    [[nodiscard]] std::string host(std::size_t i) const { return host_number(i); }
    [[nodiscard]] std::size_t servers() const noexcept { return servers_.size(); }
    [[nodiscard]] sentinel& watcher(std::size_t i) { return *sentinels_.at(i); }
    [[nodiscard]] std::size_t watchers() const noexcept { return sentinels_.size(); }

    /// The number of the server that this Sentinel names as the master.
    [[nodiscard]] std::size_t named_by(std::size_t sentinel) const;
    /// Whether this Sentinel is making a failover.
    [[nodiscard]] bool is_failing_over(std::size_t sentinel) const;
    /// Waits until the servers that run are a master with all others as its replicas, which all
    /// Sentinels know: so that the next failover can be made.
    void await_health();

  private:
    [[nodiscard]] bool is_healthy() const;
    [[nodiscard]] std::string host_number(std::size_t i) const {
        return "127.0.0." + std::to_string(wanted_.own_hosts ? 2 + i : 1);
    }

    options wanted_;
    std::vector<std::unique_ptr<redis_server>> servers_;
    std::vector<std::unique_ptr<sentinel>> sentinels_;
};

} // namespace colimit::test

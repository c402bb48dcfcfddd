// SPDX-License-Identifier: BSL-1.0
//
// A replica of a server that has a port, connected to it. It ends with the test.

#pragma once

#include <support/redis_server.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::test {

class redis_replica {
  public:
    /// Waits until it has read what the server stores.
    /// @param arguments of its redis-server
    /// @throws std::runtime_error with its log if that takes longer than a minute
    explicit redis_replica(const redis_server& of, std::vector<std::string> arguments = {})
        : server_({.arguments = following(of, std::move(arguments))}), client(server_.connect()) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
        while (client.must({"INFO", "replication"}).text.find("master_link_status:up") ==
               std::string::npos) {
            if (std::chrono::steady_clock::now() > end)
                throw std::runtime_error{"the replica does not connect: " + server_.log()};
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    [[nodiscard]] std::string socket() const { return server_.socket(); }

  private:
    [[nodiscard]] static std::vector<std::string> following(const redis_server& of,
                                                            std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"--replicaof", "127.0.0.1", std::to_string(of.port())});
        return arguments;
    }

    redis_server server_;

  public:
    /// A connection to it.
    raw_client client;
};

} // namespace colimit::test

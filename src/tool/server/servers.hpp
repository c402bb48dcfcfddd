// SPDX-License-Identifier: BSL-1.0
//
// The servers that have the keys: the one of the address, the master that Sentinels name, or the
// masters of a cluster. Commands are sent to them directly, and replies are awaited.

#pragma once

#include <colimit/config.hpp>
#include <redis/cluster/slot_map.hpp>
#include <redis/connection/address.hpp>
#include <tool/server/link.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

class servers {
  public:
    /// Finds the servers.
    /// @throws std::runtime_error with one sentence, as all functions here; interrupted
    explicit servers(const colimit::config& settings);
    ~servers();
    servers(const servers&) = delete;
    servers& operator=(const servers&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return links_.size(); }
    /// Checks, after a command, that the servers have all keys: a search in one node of several
    /// would report that nothing is stored.
    void require_all_keys();
    /// Returns the index of the server that has this Redis key.
    [[nodiscard]] std::size_t of(std::string_view redis_key) const;

    /// Sends commands to one server and waits for all replies, which may be errors.
    [[nodiscard]] std::vector<reply> ask(std::size_t server, const std::vector<words>& commands);
    /// Sends one command; an error reply is thrown.
    [[nodiscard]] reply ask_one(std::size_t server, const words& command);

    /// Returns the time of a server, in microseconds since 1970.
    [[nodiscard]] std::int64_t time(std::size_t server);

    /// Waits. A signal ends that early.
    /// @throws interrupted
    void pause(std::chrono::milliseconds length);

  private:
    void find(const colimit::redis::address& where);
    [[nodiscard]] std::vector<reply> ask(link& to, const std::string& name,
                                         const std::vector<words>& commands);
    template<std::predicate Ends>
    void run_until(std::chrono::steady_clock::time_point latest, Ends ends);
    void throw_if_interrupted() const;
    void add(const colimit::redis::address& where, colimit::redis::connection_settings settings);
    void find_master(const colimit::redis::address& where);
    void find_nodes(const colimit::redis::address& where);
    [[nodiscard]] reply ask_one_of(const colimit::redis::address& where, const words& command,
                                   std::string& answered_by);

    const colimit::config settings_;
    std::shared_ptr<const colimit::redis::tls_context> tls_;
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_{context_};
    int signal_ = 0;
    std::vector<std::shared_ptr<link>> links_;
    std::vector<std::string> names_; ///< of the servers, for messages
    colimit::redis::slot_map map_;   ///< of a cluster; its masters are in the order of the links
};

} // namespace tool

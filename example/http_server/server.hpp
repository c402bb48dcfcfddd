// SPDX-License-Identifier: BSL-1.0
//
// The server: it accepts a bounded number of connections, publishes its state four times per
// second, and ends in an orderly way.

#pragma once

#include "awaitable.hpp"
#include "event_stream.hpp"
#include "monitor.hpp"
#include "service.hpp"
#include "session.hpp"

#include <colimit/http_guard.hpp>
#include <colimit/limiter.hpp>
#include <colimit/policy_source.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace http_server {

struct settings {
    std::string address = "127.0.0.1";
    std::uint16_t port = 8080;
    std::string store = "memory:";
    std::string policies;
    bool reads_policies_from_redis = false;
    std::vector<std::string> hosts;
    std::size_t max_connections = 4096;
    bool is_limiting = true;
};

class server {
  public:
    static constexpr std::chrono::milliseconds publish_interval{250};
    /// For responses that are pending when the server stops.
    static constexpr std::chrono::seconds grace{2};

    /// @throws std::exception for a bad address, a port in use, and bad policies
    server(asio::io_context& context, const settings& s);

    void start();
    [[nodiscard]] asio::ip::tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  private:
    [[nodiscard]] asio::awaitable<void> accept();
    [[nodiscard]] asio::awaitable<void> serve(asio::ip::tcp::socket client, asio::ip::address peer);
    [[nodiscard]] asio::awaitable<void> publish();
    [[nodiscard]] bool make_room();
    void stop();
    void end_when_idle();

    monitor watch_;
    colimit::limiter limiter_;
    colimit::policy_source policies_;
    colimit::http::guard guard_;
    event_stream events_;
    service service_;
    asio::ip::tcp::acceptor acceptor_;
    asio::signal_set signals_;
    asio::steady_timer timer_;
    asio::steady_timer grace_end_;
    std::set<session*> sessions_;
    std::size_t max_connections_;
};

} // namespace http_server

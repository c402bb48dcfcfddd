// SPDX-License-Identifier: BSL-1.0
//
// Accepting, publishing and ending; what happens on a connection is in `session`.

#include "server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <csignal>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace http_server {

namespace {

using asio::ip::tcp;

tcp::acceptor listen(asio::io_context& context, const settings& s) {
    boost::system::error_code ec;
    const auto address = asio::ip::make_address(s.address, ec);
    if (ec)
        throw std::runtime_error{"--address: not an IP address (got '" + s.address +
                                 "', expected one such as 127.0.0.1 or ::)"};
    try {
        return tcp::acceptor{context, {address, s.port}};
    } catch (const boost::system::system_error& e) {
        const auto where = "port " + std::to_string(s.port) + " of " + s.address;
        if (e.code() == asio::error::address_in_use)
            throw std::runtime_error{where + " is in use by another program; state another one "
                                             "with --port, or 0 for any free port"};
        throw std::runtime_error{"cannot listen on " + where + ": " + e.code().message()};
    }
}

/// Addresses may contain passwords.
std::string name_of(const std::string& store) {
    return store.substr(0, store.find(':') + 1) == "memory:" ? "memory" : "Redis";
}

colimit::config config_of(const settings& s, monitor& watch) {
    colimit::config c;
    c.server = s.store;
    c.counted_policies = colimit::limits::max_policies;
    c.advanced.audit_sampling = {.allowed = 0, .denied = 1, .failed = 0};
    c.on_decision = [&watch](const colimit::audit_record& r) { watch.add_denial(r.policy, r.key); };
    c.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
    return c;
}

colimit::policy_source_options policy_options() {
    colimit::policy_source_options o;
    o.reload_on_hangup = true;
    o.on_event = [](const colimit::policy_event& e) { std::cerr << "policies: " << e << '\n'; };
    return o;
}

/// A document in Redis is on the server that counts, and until it has one, the file is in force.
colimit::policy_source source_of(asio::io_context& context, const settings& s) {
    if (!s.reads_policies_from_redis)
        return {context.get_executor(), s.policies, policy_options()};
    colimit::config c;
    c.server = s.store;
    return {context.get_executor(), s.policies, c, policy_options()};
}

/// A request that the limiter cannot decide is let through, and reported. The failure mode decides
/// while the server is unavailable, so what is left are mistakes in the setup, which are the same
/// for all requests.
colimit::http::guard_options guard_options() {
    colimit::http::guard_options o;
    o.on_error = [last = colimit::error_code{}](const auto& /*request*/,
                                                const colimit::http::verdict& v) mutable {
        if (std::exchange(last, v.error) != v.error)
            std::cerr << "limiter: " << v.error.message()
                      << (v.decision ? "; some policies of a request could not decide\n"
                                     : "; requests are not limited\n");
    };
    return o;
}

/// Tells a client that there are too many. The reply fits into the buffer of a new connection.
void turn_away(tcp::socket client) {
    constexpr std::string_view text = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                                      "Connection: close\r\nRetry-After: 1\r\n\r\n";
    boost::system::error_code ignored;
    client.non_blocking(true, ignored);
    client.write_some(asio::buffer(text), ignored);
}

} // namespace

server::server(asio::io_context& context, const settings& s)
    : watch_(name_of(s.store)), limiter_(context.get_executor(), config_of(s, watch_)),
      policies_(source_of(context, s)),
      guard_(
          limiter_, [this] { return policies_.current(); }, guard_options()),
      service_{limiter_, policies_, guard_, watch_, events_, s.is_limiting, s.hosts},
      acceptor_(listen(context, s)), signals_(context, SIGINT, SIGTERM), timer_(context),
      grace_end_(context), max_connections_(s.max_connections) {}

void server::start() {
    signals_.async_wait([this](boost::system::error_code ec, int) {
        if (!ec)
            stop();
    });
    asio::co_spawn(acceptor_.get_executor(), accept(), asio::detached);
    asio::co_spawn(acceptor_.get_executor(), publish(), asio::detached);
}

asio::awaitable<void> server::accept() {
    while (acceptor_.is_open()) {
        tcp::endpoint peer;
        auto [ec, client] = co_await acceptor_.async_accept(peer, quietly);
        if (!ec && !make_room()) {
            turn_away(std::move(client));
        } else if (!ec) {
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(client), peer.address()),
                           asio::detached);
        } else if (acceptor_.is_open()) {
            // Usually out of descriptors: some will be closed soon.
            asio::steady_timer pause{acceptor_.get_executor(), std::chrono::milliseconds{100}};
            co_await pause.async_wait(quietly);
        }
    }
}

/// Of too many connections the one that has waited longest for its client ends: so clients that
/// send slowly, or do not read, cannot keep others out. Returns whether there is room for one more.
bool server::make_room() {
    if (sessions_.size() < max_connections_)
        return true;
    if (service_.waiting.empty())
        return false;
    service_.waiting.front()->drop();
    return true;
}

asio::awaitable<void> server::serve(tcp::socket client, asio::ip::address peer) {
    session one{std::move(client), peer, service_};
    if (!acceptor_.is_open())
        co_return; // accepted as the server stopped
    sessions_.insert(&one);
    co_await one.run();
    sessions_.erase(&one);
    end_when_idle();
}

asio::awaitable<void> server::publish() {
    while (acceptor_.is_open()) {
        if (events_.readers() > 0)
            events_.publish(
                watch_.state(limiter_, policies_.current()->policies(), events_.readers()));
        timer_.expires_after(publish_interval);
        co_await timer_.async_wait(quietly);
    }
}

/// Accepts no new clients and no new requests; pending responses are still sent, to clients that
/// take them soon. The second signal ends the program at once.
void server::stop() {
    signals_.clear();
    acceptor_.close();
    timer_.cancel();
    events_.close();
    policies_.close();
    for (auto* one : sessions_)
        one->stop();
    grace_end_.expires_after(grace);
    grace_end_.async_wait([this](boost::system::error_code ec) {
        if (!ec)
            for (auto* one : sessions_)
                one->drop();
    });
    end_when_idle();
}

void server::end_when_idle() {
    if (acceptor_.is_open() || !sessions_.empty())
        return;
    grace_end_.cancel();
    limiter_.close(); // then the context has no work left, and ends
}

} // namespace http_server

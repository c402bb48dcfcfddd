// SPDX-License-Identifier: BSL-1.0
//
// A TCP server that sends every line back, unless its sender's address sends too many. Try it with
//
//     echo_server --port 7007 --rule '1/s burst 3' &
//     nc 127.0.0.1 7007
//
// Read first: `serve`, which calls the limiter and handles its errors; `stop`, an orderly shutdown.

#include <colimit.hpp>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using colimit::error_code;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t longest_line = 4096;

std::string refusal(const colimit::decision& d) {
    if (d.outcome == colimit::outcome::never)
        return "refused\n";
    std::array<char, 64> text{};
    // Rounded up: a client that retries a millisecond early is denied again.
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(d.retry_after).count();
    std::snprintf(text.data(), text.size(), "too many lines, try again in %lld.%03lld s\n",
                  static_cast<long long>(wait / 1000), static_cast<long long>(wait % 1000));
    return text.data();
}

/// Each event of the limiter is a line of the log: connections, the circuit breaker, denied
/// permissions.
colimit::config settings_for(const std::string& store) {
    colimit::config settings;
    settings.server = store;
    settings.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
    return settings;
}

/// Ends reads; data that was written is still sent.
void half_close(tcp::socket& socket) {
    error_code ec;
    ec = socket.shutdown(tcp::socket::shutdown_receive, ec); // may fail after a disconnection
}

class echo_server {
  public:
    echo_server(asio::io_context& context, std::uint16_t port, const std::string& store,
                const std::vector<colimit::rule>& rules)
        : limiter_(context.get_executor(), settings_for(store)),
          lines_(colimit::policy{"lines", rules}.with_failure_mode(colimit::failure_mode::allow)),
          acceptor_(context, {tcp::v6(), port}), signals_(context, SIGINT, SIGTERM) {}

    void start() {
        std::cout << "listening on port " << acceptor_.local_endpoint().port() << '\n'
                  << std::flush;
        signals_.async_wait([this](error_code ec, int) {
            if (!ec)
                stop();
        });
        asio::co_spawn(acceptor_.get_executor(), accept(), asio::detached);
    }

  private:
    asio::awaitable<void> accept() {
        while (acceptor_.is_open()) {
            auto [ec, socket] = co_await acceptor_.async_accept(as_tuple);
            if (!ec) {
                asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)), asio::detached);
            } else if (acceptor_.is_open()) {
                // Usually out of descriptors: some will be closed soon.
                asio::steady_timer pause{acceptor_.get_executor(), std::chrono::milliseconds{100}};
                co_await pause.async_wait(as_tuple);
            }
        }
    }

    asio::awaitable<void> serve(tcp::socket socket) {
        error_code ec;
        const auto peer = socket.remote_endpoint(ec);
        if (ec || !acceptor_.is_open())
            co_return; // the client has disconnected, or the server stops
        // Without the port, which differs for each connection of a client; an IPv6 client by its
        // network of 64 bits, as it may use any address there.
        const auto key = colimit::key::address(peer.address());
        sockets_.insert(&socket);
        std::string received;
        auto is_open = true;
        while (is_open)
            is_open = co_await answer_line(socket, key, received);
        sockets_.erase(&socket);
        end_when_idle();
    }

    /// Returns false if the connection is to be closed.
    asio::awaitable<bool> answer_line(tcp::socket& socket, const colimit::scoped_key& key,
                                      std::string& received) {
        const auto [ec, size] = co_await asio::async_read_until(
            socket, asio::dynamic_buffer(received, longest_line), '\n', as_tuple);
        if (ec)
            co_return false; // closed, or a line that is too long
        auto answer = received.substr(0, size);
        received.erase(0, size);

        const auto [failure, d] = co_await limiter_.allow(key, lines_, as_tuple);
        note(failure, d);
        // While the server is unavailable, lines are allowed: this limit prevents a nuisance, and
        // an outage would be a larger one. If a limit protects passwords or money, deny. The
        // remaining errors are mistakes in the setup, such as a wrong password.
        if (!failure && !d)
            answer = refusal(d);

        const auto [write_error, written] =
            co_await asio::async_write(socket, asio::buffer(answer), as_tuple);
        co_return !write_error;
    }

    /// Reports when the limiter begins to fail and when it works again, not each line.
    void note(error_code failure, const colimit::decision& d) {
        const auto is_limiting = !failure && d.source != colimit::decision_source::fail_open;
        if (is_limiting == std::exchange(is_limiting_, is_limiting))
            return;
        if (is_limiting)
            std::cerr << "limiter: lines are limited again\n";
        else
            std::cerr << "limiter: " << (failure ? failure.message() : "the server is away")
                      << "; lines are not limited\n";
    }

    /// Accepts no new clients and no new lines; pending replies are still sent. The second signal
    /// ends the program at once.
    void stop() {
        signals_.clear();
        acceptor_.close();
        for (auto* socket : sockets_)
            half_close(*socket);
        end_when_idle();
    }

    void end_when_idle() {
        if (!acceptor_.is_open() && sockets_.empty())
            limiter_.close(); // then the context has no work left, and ends
    }

    colimit::limiter limiter_;
    colimit::policy lines_;
    tcp::acceptor acceptor_;
    asio::signal_set signals_;
    std::set<tcp::socket*> sockets_; // of the connections being served
    bool is_limiting_ = true;
};

} // namespace

int main(int argc, char** argv) {
    std::uint16_t port = 7007;
    std::string store = "memory:";
    std::string rule = "5/s burst 10";
    CLI::App app{"Sends every line back, unless its sender's address sends too many.",
                 "echo_server"};
    app.add_option("--port", port, "Where to listen; 0 for any free port")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    app.add_option("--server", store, "Where to count: memory:, redis://host:port, unix:/path")
        ->type_name("ADDRESS")
        ->capture_default_str();
    app.add_option("--rule", rule, "What each address may do; several joined by ';'")
        ->type_name("TEXT")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    try {
        asio::io_context context{1};
        echo_server server{context, port, store, colimit::parse_rules(rule)};
        server.start();
        context.run();
    } catch (const std::exception& e) {
        std::cerr << "echo_server: " << e.what() << '\n';
        return 1;
    }
}

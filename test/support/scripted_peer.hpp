// SPDX-License-Identifier: BSL-1.0
//
// A server that is controlled by a test: listens on a unix socket and runs a coroutine per
// connection, which reads complete commands and replies with any bytes at any pace.

#pragma once

#include <colimit/config.hpp>
#include <support/coroutine_run.hpp>
#include <support/fresh_folder.hpp>
#include <support/module_replies.hpp>
#include <support/script_double.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

/// One connection, as the server sees it. It throws system_error when the client has gone.
class peer_connection {
  public:
    using socket_type = asio::local::stream_protocol::socket;

    peer_connection(socket_type socket, int number) : number(number), socket_(std::move(socket)) {}

    /// The next command, when all of it is there.
    asio::awaitable<command> next() {
        while (pending_.empty()) {
            char bytes[4096];
            const auto n =
                co_await socket_.async_read_some(asio::buffer(bytes), asio::use_awaitable);
            received_.append(bytes, n);
            for (auto& words : take_commands(received_))
                pending_.push_back(std::move(words));
        }
        auto words = std::move(pending_.front());
        pending_.erase(pending_.begin());
        co_return words;
    }

    /// The bytes live until it completes. (Not a string: GCC 12 destroys some temporaries of a
    /// co_await twice.)
    asio::awaitable<void> send(std::string_view bytes) {
        co_await asio::async_write(socket_, asio::buffer(bytes), asio::use_awaitable);
    }

    /// Byte by byte, each in a packet of its own.
    asio::awaitable<void> trickle(std::string_view bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            co_await send(bytes.substr(i, 1));
            co_await asio::post(asio::use_awaitable);
        }
    }

    /// Replies to a handshake up to its last command like a real server.
    /// @param more what is sent together with the last reply
    asio::awaitable<void> greet(std::string more = {}) {
        for (auto last = false; !last;) {
            const auto words = co_await next();
            last = words.at(0) == "EVALSHA"; // that of the permissions
            const auto answer = last                             ? permissions_reply
                                : words.at(0) == "SCRIPT"        ? load_reply
                                : words.at(0) == "HELLO"         ? hello_reply
                                : words.at(0) == "COLIMIT.CHECK" ? unknown_command
                                                                 : std::string_view{"+OK\r\n"};
            const auto bytes = std::string{answer} + (last ? more : std::string{});
            co_await send(bytes);
        }
    }

    /// Replies to script calls as long as the client is connected.
    asio::awaitable<void> serve(script_double& script) {
        for (;;) {
            const auto words = co_await next();
            const auto answer = script.answer(words);
            co_await send(answer);
        }
    }

    /// Reads, and answers nothing, until the client goes.
    asio::awaitable<void> stay_silent() {
        for (;;)
            (void)co_await next();
    }

    void close() { socket_.close(); }

    const int number; ///< of the connection, from 1

  private:
    socket_type socket_;
    std::string received_;
    std::vector<command> pending_;
};

class scripted_peer {
  public:
    using script = std::function<asio::awaitable<void>(peer_connection&)>;

    scripted_peer(asio::io_context& context, script each)
        : script_(std::move(each)), acceptor_(context, {folder_.path() + "/peer.sock"}) {
        asio::co_spawn(context, accept(), report);
    }
    scripted_peer(const scripted_peer&) = delete;
    scripted_peer& operator=(const scripted_peer&) = delete;

    [[nodiscard]] std::string address() const { return "unix:" + folder_.path() + "/peer.sock"; }
    /// For a limiter that is patient, reports errors as such, and sends only what a test asks for.
    [[nodiscard]] config settings() const {
        auto c = config{};
        c.server = address();
        c.timeout = std::chrono::seconds{10};
        c.advanced.ping_interval = std::chrono::milliseconds{0};
        c.on_failure = failure_mode::error;
        return c;
    }
    [[nodiscard]] int connections() const noexcept { return connections_; }
    void close() { acceptor_.close(); }

  private:
    /// A client that goes is what happens; anything else that a script throws is a fault of it.
    static void report(const std::exception_ptr& failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (const boost::system::system_error& gone) { // NOLINT(bugprone-empty-catch)
            (void)gone;
        }
    }

    asio::awaitable<void> accept() {
        for (;;) {
            auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
            auto made = std::make_shared<peer_connection>(std::move(socket), ++connections_);
            asio::co_spawn(co_await asio::this_coro::executor, converse(made), report);
        }
    }

    asio::awaitable<void> converse(std::shared_ptr<peer_connection> connection) {
        co_await script_(*connection);
    }

    fresh_folder folder_;
    script script_;
    asio::local::stream_protocol::acceptor acceptor_;
    int connections_ = 0;
};

} // namespace colimit::test

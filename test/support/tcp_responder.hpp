// SPDX-License-Identifier: BSL-1.0
//
// A server on a free port of 127.0.0.1 that sends one text to each client that has sent something
// (or at once) and closes the connection. For servers that are not Redis.

#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <exception>
#include <string>
#include <utility>

namespace colimit::test {

class tcp_responder {
  public:
    /// @param greets whether it speaks first
    tcp_responder(asio::io_context& context, std::string sentence, bool greets = false)
        : sentence_(std::move(sentence)), greets_(greets),
          acceptor_(context, {asio::ip::address_v4::loopback(), 0}) {
        asio::co_spawn(context, accept(), [](const std::exception_ptr&) {});
    }

    /// @param scheme `redis` or `rediss`
    [[nodiscard]] std::string address(const std::string& scheme) const {
        return scheme + "://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

  private:
    using tcp = asio::ip::tcp;

    asio::awaitable<void> accept() {
        for (;;) {
            auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
            asio::co_spawn(acceptor_.get_executor(), respond(std::move(socket)),
                           [](const std::exception_ptr&) {});
        }
    }

    asio::awaitable<void> respond(tcp::socket socket) {
        char bytes[1024];
        if (!greets_)
            (void)co_await socket.async_read_some(asio::buffer(bytes), asio::use_awaitable);
        co_await asio::async_write(socket, asio::buffer(sentence_), asio::use_awaitable);
        socket.shutdown(tcp::socket::shutdown_send);
        for (;;) // until the client closes, or its bytes would make the kernel drop the reply
            (void)co_await socket.async_read_some(asio::buffer(bytes), asio::use_awaitable);
    }

    std::string sentence_;
    bool greets_;
    tcp::acceptor acceptor_;
};

} // namespace colimit::test

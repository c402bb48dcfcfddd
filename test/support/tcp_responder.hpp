// SPDX-License-Identifier: BSL-1.0
//
// A server on a free port of 127.0.0.1 that sends one text to each client that has sent something
// (or a line, or at once) and closes the connection. For servers that are not Redis.

#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace colimit::test {

class tcp_responder {
  public:
    enum class moment : std::uint8_t { at_once, after_bytes, after_line };

    tcp_responder(asio::io_context& context, std::string sentence,
                  moment when = moment::after_bytes)
        : sentence_(std::move(sentence)), when_(when),
          acceptor_(context, {asio::ip::address_v4::loopback(), 0}) {
        asio::co_spawn(context, accept(), [](const std::exception_ptr&) {});
    }

    /// @param scheme `redis` or `rediss`
    [[nodiscard]] std::string address(const std::string& scheme) const {
        return scheme + "://127.0.0.1:" + std::to_string(port());
    }
    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    /// Returns what the last client to say something has said.
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }

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
        auto all = std::string{};
        const auto hear = [&]() -> asio::awaitable<void> {
            const auto n =
                co_await socket.async_read_some(asio::buffer(bytes), asio::use_awaitable);
            heard_ = all.append(bytes, n);
        };
        if (when_ == moment::after_bytes)
            co_await hear();
        while (when_ == moment::after_line && !all.ends_with('\n'))
            co_await hear();
        co_await asio::async_write(socket, asio::buffer(sentence_), asio::use_awaitable);
        socket.shutdown(tcp::socket::shutdown_send);
        for (;;) // until the client closes, or its bytes would make the kernel drop the reply
            co_await hear();
    }

    std::string sentence_;
    std::string heard_;
    moment when_;
    tcp::acceptor acceptor_;
};

} // namespace colimit::test

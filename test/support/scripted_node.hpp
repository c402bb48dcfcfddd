// SPDX-License-Identifier: BSL-1.0
//
// A node of a cluster that is controlled by the test: on a free port, over TLS if it has an
// identity. It lets everyone in, says that it has these slots, and replies to calls as the test
// wants.
//
//     auto node = scripted_node{context, {.map = [&] { return ranges; },
//                                         .call = [&](const command& words) { return reply; }}};

#pragma once

#include <support/certificates.hpp>
#include <support/module_replies.hpp>
#include <support/script_double.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colimit::test {

/// Slots, and the port of 127.0.0.1 at which they are served.
struct slot_range {
    std::size_t first;
    std::size_t last;
    std::uint16_t port;
};

class scripted_node {
  public:
    struct behaviour {
        std::function<std::vector<slot_range>()> map;
        /// Returns the reply to an EVALSHA, or to ASKING.
        std::function<std::string(const command& words)> call;
        std::optional<identity> tls = {};
    };

    scripted_node(asio::io_context& context, behaviour wanted)
        : wanted_(std::move(wanted)), acceptor_(context, {asio::ip::address_v4::any(), 0}) {
        if (wanted_.tls) {
            tls_.use_certificate_chain_file(wanted_.tls->certificate);
            tls_.use_private_key_file(wanted_.tls->key, asio::ssl::context::pem);
        }
        asio::co_spawn(context, accept(), ended);
    }

    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  private:
    using tcp = asio::ip::tcp;

    /// A client goes, or the test ends.
    static void ended(const std::exception_ptr& /*why*/) {}

    asio::awaitable<void> accept() {
        for (;;) {
            auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
            auto talk = wanted_.tls ? serve_tls(std::move(socket)) : serve_plain(std::move(socket));
            asio::co_spawn(acceptor_.get_executor(), std::move(talk), ended);
        }
    }

    asio::awaitable<void> serve_plain(tcp::socket socket) { co_await serve(socket); }

    asio::awaitable<void> serve_tls(tcp::socket socket) {
        auto stream = asio::ssl::stream<tcp::socket>{std::move(socket), tls_};
        co_await stream.async_handshake(asio::ssl::stream_base::server, asio::use_awaitable);
        co_await serve(stream);
    }

    template<class Stream>
    asio::awaitable<void> serve(Stream& stream) {
        auto received = std::string{};
        for (;;) {
            char bytes[4096];
            const auto n =
                co_await stream.async_read_some(asio::buffer(bytes), asio::use_awaitable);
            received.append(bytes, n);
            auto out = std::string{};
            for (const auto& words : take_commands(received))
                out += reply_to(words);
            co_await asio::async_write(stream, asio::buffer(out), asio::use_awaitable);
        }
    }

    [[nodiscard]] std::string reply_to(const command& words) const {
        if (words.at(0) == "HELLO")
            return "%1\r\n" + bulk("mode") + bulk("cluster");
        if (words.at(0) == "COLIMIT.CHECK")
            return std::string{unknown_command};
        if (words.at(0) == "SCRIPT")
            return std::string{load_reply};
        if (words.at(0) == "CLUSTER")
            return words.at(1) == "INFO" ? bulk("cluster_state:ok\r\ncluster_current_epoch:1\r\n")
                                         : map_reply();
        if (words.at(0) == "EVALSHA" && words.at(2) == "0")
            return std::string{permissions_reply};
        return wanted_.call(words);
    }

    [[nodiscard]] std::string map_reply() const {
        const auto ranges = wanted_.map();
        auto out = "*" + std::to_string(ranges.size()) + "\r\n";
        for (const auto& [first, last, port] : ranges)
            out += "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) +
                   "\r\n*3\r\n" + bulk("127.0.0.1") + ":" + std::to_string(port) + "\r\n" +
                   bulk("id");
        return out;
    }

    [[nodiscard]] static std::string bulk(std::string_view text) {
        return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
    }

    behaviour wanted_;
    asio::ssl::context tls_{asio::ssl::context::tls_server};
    tcp::acceptor acceptor_;
};

} // namespace colimit::test

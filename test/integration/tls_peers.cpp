// SPDX-License-Identifier: BSL-1.0
//
// The peers: real servers with the wrong certificate, or with a bad network before them, and
// programs that are no servers.

#include "tls_peers.hpp"

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/redis_server.hpp>
#include <support/tcp_responder.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace colimit::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

/// Of servers that have one: not that of the limiter.
constexpr std::string_view password = "other";

/// A redis-server, of which HELLO, which has the credentials, is counted.
class server_peer : public tls_peer {
  public:
    explicit server_peer(redis_server::options wanted) : server_(std::move(wanted)) {}

    [[nodiscard]] std::uint16_t port() const override { return server_.port(); }
    [[nodiscard]] bool has_heard_secrets() const override {
        auto look = server_.connect();
        (void)look({"AUTH", password}); // an error if there is none
        return calls_of(look, "hello") != 0;
    }
    [[nodiscard]] redis_server& server() noexcept { return server_; }

  private:
    redis_server server_;
};

/// A server with the right certificate that answers nothing.
class frozen_peer final : public server_peer {
  public:
    explicit frozen_peer(redis_server::options wanted) : server_peer(std::move(wanted)) {
        server().stop();
    }
    [[nodiscard]] bool has_heard_secrets() const override { return false; }
};

/// A server with the right certificate behind a network that does one thing wrong on each
/// connection.
class hindered_peer final : public server_peer {
  public:
    hindered_peer(asio::io_context& context, redis_server::options wanted, fault wrong)
        : server_peer(std::move(wanted)),
          proxy_(context, server().address(), [wrong](int /*connection*/) { return wrong; }) {}

    [[nodiscard]] std::uint16_t port() const override { return proxy_.port(); }

  private:
    fault_proxy proxy_;
};

/// A program that speaks something else.
class stranger_peer final : public tls_peer {
  public:
    stranger_peer(asio::io_context& context, std::string sentence, bool greets)
        : program_(context, std::move(sentence), greets) {}

    [[nodiscard]] std::uint16_t port() const override { return program_.port(); }
    [[nodiscard]] bool has_heard_secrets() const override {
        constexpr auto tls_record = '\x16'; // of a handshake
        const auto& heard = program_.heard();
        return !heard.empty() && (heard.front() != tls_record || count_of(heard, "HELLO") != 0);
    }

  private:
    tcp_responder program_;
};

using opener = std::function<std::unique_ptr<tls_peer>(asio::io_context&, certificate_authority&)>;

[[nodiscard]] redis_server::options over_tls(const identity& who) {
    return {.tcp = true, .tls = who};
}

[[nodiscard]] opener signed_with(certificate_wishes wishes) {
    return [wishes](asio::io_context& /*context*/, certificate_authority& trusted) {
        return std::make_unique<server_peer>(over_tls(trusted.sign("peer", wishes)));
    };
}

[[nodiscard]] std::unique_ptr<tls_peer> of_another_ca(asio::io_context& /*context*/,
                                                      certificate_authority& /*trusted*/) {
    auto another = certificate_authority{}; // the server has read its files when it is gone
    return std::make_unique<server_peer>(over_tls(another.sign("peer")));
}

[[nodiscard]] opener demanding(std::string versions) {
    return [versions](asio::io_context& /*context*/, certificate_authority& trusted) {
        auto wanted = over_tls(trusted.sign("peer"));
        wanted.tls_clients = trusted.file();
        wanted.arguments = {"--tls-protocols", versions};
        return std::make_unique<server_peer>(std::move(wanted));
    };
}

[[nodiscard]] opener without_tls(std::vector<std::string> arguments) {
    return [arguments](asio::io_context& /*context*/, certificate_authority& /*trusted*/) {
        return std::make_unique<server_peer>(
            redis_server::options{.tcp = true, .arguments = arguments});
    };
}

[[nodiscard]] std::unique_ptr<tls_peer> frozen(asio::io_context& /*context*/,
                                               certificate_authority& trusted) {
    return std::make_unique<frozen_peer>(over_tls(trusted.sign("peer")));
}

[[nodiscard]] opener hindered(fault wrong) {
    return [wrong](asio::io_context& context, certificate_authority& trusted) {
        return std::make_unique<hindered_peer>(context, over_tls(trusted.sign("peer")), wrong);
    };
}

[[nodiscard]] opener stranger(std::string sentence, bool greets = false) {
    return [sentence, greets](asio::io_context& context, certificate_authority& /*trusted*/) {
        return std::make_unique<stranger_peer>(context, sentence, greets);
    };
}

/// In the handshake of a server, which has some 1,100 bytes.
constexpr std::size_t within = 300;
constexpr auto in_vain = 400ms;

[[nodiscard]] std::vector<misbehaving_peer> make_table() {
    const auto untrusted = errc::untrusted_server;
    const auto away = errc::unavailable;
    const auto late = std::string_view{"no connection within config::connect_timeout"};
    const auto http = std::string{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"};
    return {
        {"another CA", of_another_ca, untrusted, "certificate"},
        {"another name", signed_with({.names = "DNS:cache.example.org,IP:10.0.0.1"}), untrusted,
         "mismatch"},
        {"expired", signed_with({.from = -48h, .until = -24h}), untrusted, "has expired"},
        {"not valid yet", signed_with({.from = 1h}), untrusted, "not yet valid"},
        {"demands a certificate, TLS 1.3", demanding("TLSv1.3"), errc::auth_failed, "certificate"},
        {"demands a certificate, TLS 1.2", demanding("TLSv1.2"), errc::auth_failed, "handshake"},
        {"no TLS", without_tls({}), errc::bad_reply, "does not speak TLS; it replied: -", in_vain},
        {"no TLS, a password", without_tls({"--requirepass", std::string{password}}),
         errc::bad_reply, "does not speak TLS; it replied: -", in_vain},
        {"HTTP", stranger(http), errc::bad_reply, "HTTP/1.1 400 Bad Request"},
        {"SSH", stranger("SSH-2.0-OpenSSH_9.2\r\n", true), errc::bad_reply, "does not speak TLS"},
        {"silent", frozen, away, late, in_vain},
        {"closes", stranger(""), away, "", in_vain},
        {"ends within the handshake", hindered({.kind = fault_kind::fin, .byte = within}), away, "",
         in_vain},
        {"resets within the handshake", hindered({.kind = fault_kind::reset, .byte = within}), away,
         "", in_vain},
        {"stalls within the handshake", hindered({.kind = fault_kind::stall, .byte = within}), away,
         late, in_vain},
        {"trickles", hindered({.kind = fault_kind::trickle, .pace = 20ms}), away, late, in_vain},
        {"corrupts the handshake", hindered({.kind = fault_kind::flip, .byte = within, .bit = 3}),
         away, "", in_vain},
    };
}

} // namespace

const std::vector<misbehaving_peer>& misbehaving_peers() {
    static const auto table = make_table();
    return table;
}

} // namespace colimit::test

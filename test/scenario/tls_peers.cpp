// SPDX-License-Identifier: BSL-1.0
//
// The peers: servers with the wrong certificate, or with a bad network before them, and programs
// that are no servers.

#include "tls_peers.hpp"

#include <scenario/fake_redis.hpp>
#include <scenario/tls_front.hpp>
#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/tcp_responder.hpp>

#include <openssl/ssl.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace colimit::scenario {
namespace {

using test::fault;
using test::fault_kind;
using test::tcp_responder;

/// A server over TLS, of which HELLO, which has the credentials, is counted.
class server_peer : public tls_peer {
  public:
    server_peer(world& in, tls_front::options wanted)
        : server_(in.net), front_(in.context, std::move(wanted), server_) {}

    [[nodiscard]] std::uint16_t port() const override { return front_.port(); }
    [[nodiscard]] bool has_heard_secrets() const override {
        return std::ranges::count(server_.log, "hello") != 0;
    }
    [[nodiscard]] tls_front& front() noexcept { return front_; }

  private:
    fake_redis server_;
    tls_front front_;
};

/// A server with the right certificate behind a network that does one thing wrong on each
/// connection.
class hindered_peer final : public server_peer {
  public:
    hindered_peer(world& in, tls_front::options wanted, fault wrong)
        : server_peer(in, std::move(wanted)),
          proxy_(in.context, "rediss://127.0.0.1:" + std::to_string(front().port()),
                 [wrong](int /*connection*/) { return wrong; }) {}

    [[nodiscard]] std::uint16_t port() const override { return proxy_.port(); }

  private:
    test::fault_proxy proxy_;
};

/// A program that speaks something else.
class stranger_peer final : public tls_peer {
  public:
    stranger_peer(world& in, std::string sentence, tcp_responder::moment when)
        : program_(in.context, std::move(sentence), when) {}

    [[nodiscard]] std::uint16_t port() const override { return program_.port(); }
    [[nodiscard]] bool has_heard_secrets() const override {
        constexpr auto tls_record = '\x16'; // of a handshake
        const auto& heard = program_.heard();
        return !heard.empty() &&
               (heard.front() != tls_record || test::count_of(heard, "HELLO") != 0);
    }

  private:
    tcp_responder program_;
};

using opener = std::function<std::unique_ptr<tls_peer>(world&, test::certificate_authority&)>;

[[nodiscard]] opener signed_with(test::certificate_wishes wishes) {
    return [wishes](world& in, test::certificate_authority& trusted) {
        return std::make_unique<server_peer>(
            in, tls_front::options{.own = trusted.sign("peer", wishes)});
    };
}

[[nodiscard]] std::unique_ptr<tls_peer> of_another_ca(world& in,
                                                      test::certificate_authority& /*trusted*/) {
    auto another = test::certificate_authority{}; // the server has read its files when it is gone
    return std::make_unique<server_peer>(in, tls_front::options{.own = another.sign("peer")});
}

[[nodiscard]] opener demanding(int version) {
    return [version](world& in, test::certificate_authority& trusted) {
        return std::make_unique<server_peer>(in, tls_front::options{.own = trusted.sign("peer"),
                                                                    .clients = trusted.file(),
                                                                    .version = version});
    };
}

[[nodiscard]] std::unique_ptr<tls_peer> frozen(world& in, test::certificate_authority& trusted) {
    auto made = std::make_unique<server_peer>(in, tls_front::options{.own = trusted.sign("peer")});
    made->front().stop();
    return made;
}

[[nodiscard]] opener hindered(fault wrong) {
    return [wrong](world& in, test::certificate_authority& trusted) {
        return std::make_unique<hindered_peer>(in, tls_front::options{.own = trusted.sign("peer")},
                                               wrong);
    };
}

[[nodiscard]] opener stranger(std::string sentence,
                              tcp_responder::moment when = tcp_responder::moment::after_bytes) {
    return [sentence, when](world& in, test::certificate_authority& /*trusted*/) {
        return std::make_unique<stranger_peer>(in, sentence, when);
    };
}

/// A Redis without TLS replies to lines.
[[nodiscard]] opener without_tls(std::string reply) {
    return stranger(std::move(reply), tcp_responder::moment::after_line);
}

/// In the handshake of a server, which has some 1,100 bytes.
constexpr std::size_t within = 300;
constexpr auto in_vain = 400ms;

[[nodiscard]] std::vector<misbehaving_peer> make_table() {
    const auto untrusted = errc::untrusted_server;
    const auto away = errc::unavailable;
    const auto late = std::string_view{"no connection within config::advanced.connect_timeout"};
    const auto http = std::string{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"};
    return {
        {"another CA", of_another_ca, untrusted, "certificate"},
        {"another name", signed_with({.names = "DNS:cache.example.org,IP:10.0.0.1"}), untrusted,
         "mismatch"},
        {"expired", signed_with({.from = -48h, .until = -24h}), untrusted, "has expired"},
        {"not valid yet", signed_with({.from = 1h}), untrusted, "not yet valid"},
        {"demands a certificate, TLS 1.3", demanding(TLS1_3_VERSION), errc::auth_failed,
         "certificate"},
        {"demands a certificate, TLS 1.2", demanding(TLS1_2_VERSION), errc::auth_failed,
         "handshake"},
        {"no TLS",
         without_tls("-ERR unknown command '\\x16\\x03\\x01', with args beginning with: \r\n"),
         errc::bad_reply, "does not speak TLS; it replied: -", in_vain},
        {"no TLS, a password", without_tls("-NOAUTH Authentication required.\r\n"), errc::bad_reply,
         "does not speak TLS; it replied: -", in_vain},
        {"HTTP", stranger(http), errc::bad_reply, "HTTP/1.1 400 Bad Request"},
        {"SSH", stranger("SSH-2.0-OpenSSH_9.2\r\n", tcp_responder::moment::at_once),
         errc::bad_reply, "does not speak TLS"},
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

} // namespace colimit::scenario

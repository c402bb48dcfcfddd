// SPDX-License-Identifier: BSL-1.0
//
// TLS without a socket: a link and a server of OpenSSL's in the same thread, and the bytes between
// them in the test's hands.

#include <redis/connection/tls_engine.hpp>
#include <support/certificates.hpp>
#include <support/unit_test.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

BOOST_AUTO_TEST_SUITE(tls_links)

namespace {

using namespace colimit;
using redis::tls_context;
using redis::tls_engine;

/// Made once for all tests of this file.
struct keys {
    test::certificate_authority authority;
    test::identity localhost = authority.sign("localhost");
    test::identity we = authority.sign("we", {.names = "DNS:we"});
    test::identity any_host = authority.sign("any", {.names = "DNS:*.example.org"});
    test::identity parts = authority.sign(
        "parts", {.names = "DNS:cache-*.example.org,DNS:*-2.example.org,DNS:c*3.example.org"});
};

[[nodiscard]] const keys& all() {
    static const keys one;
    return one;
}

/// The other end.
class server {
  public:
    explicit server(const std::function<void(SSL_CTX*)>& adjust = {})
        : context_(SSL_CTX_new(TLS_server_method())) {
        SSL_CTX_use_certificate_chain_file(context_.get(), all().localhost.certificate.c_str());
        SSL_CTX_use_PrivateKey_file(context_.get(), all().localhost.key.c_str(), SSL_FILETYPE_PEM);
        if (adjust)
            adjust(context_.get());
        ssl_.reset(SSL_new(context_.get()));
        in_ = BIO_new(BIO_s_mem());
        out_ = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl_.get(), in_, out_);
        SSL_set_accept_state(ssl_.get());
    }

    /// Takes bytes from the wire; what is said in them goes to `heard`.
    void commit(std::string_view bytes) {
        BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
        std::array<char, 4096> text{};
        std::size_t n = 0;
        while (SSL_read_ex(ssl_.get(), text.data(), text.size(), &n) == 1)
            heard.append(text.data(), n);
        ERR_clear_error();
    }
    [[nodiscard]] std::string output() {
        auto bytes = std::string(BIO_ctrl_pending(out_), '\0');
        if (!bytes.empty())
            BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
        return bytes;
    }
    void say(std::string_view text) {
        std::size_t n = 0;
        BOOST_TEST(SSL_write_ex(ssl_.get(), text.data(), text.size(), &n) == 1);
    }
    void hang_up() { SSL_shutdown(ssl_.get()); }
    [[nodiscard]] bool was_told_of_the_end() const {
        return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }
    [[nodiscard]] std::string name_asked_for() const {
        const auto* const name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
        return name == nullptr ? "" : name;
    }
    [[nodiscard]] SSL* get() const { return ssl_.get(); }

    std::string heard;

  private:
    std::unique_ptr<SSL_CTX, redis::tls_deleter> context_;
    std::unique_ptr<SSL, redis::tls_deleter> ssl_;
    BIO* in_ = nullptr;
    BIO* out_ = nullptr;
};

struct conversation {
    explicit conversation(const tls_options& options = {.ca_file = all().authority.file()},
                          const std::string& host = "localhost",
                          const std::function<void(SSL_CTX*)>& adjust = {})
        : other(adjust), context(options), link(std::make_unique<tls_engine>(context, host)) {}

    void to_link(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto room = link->prepare();
            const auto n = std::min(room.size(), bytes.size());
            std::ranges::copy(bytes.substr(0, n), room.begin());
            link->commit(n);
            bytes.remove_prefix(n);
        }
    }

    /// Until both have nothing more to say. The handshake's end, if it has failed.
    error_code handshake() {
        auto ec = error_code{};
        for (auto rounds = 0; rounds < 10; ++rounds) {
            const auto done = link->handshake(ec);
            other.commit(link->output());
            to_link(other.output());
            if (done || ec)
                return ec;
        }
        return errc::deadline_exceeded;
    }

    /// Returns the data that can be read now.
    std::string read(error_code& ec) {
        auto text = std::string{};
        auto piece = std::array<char, 1000>{};
        while (const auto n = link->decrypt(piece, ec))
            text.append(piece.data(), n);
        return text;
    }
    std::string read() {
        auto ec = error_code{};
        auto text = read(ec);
        BOOST_TEST(!ec, ec.message());
        return text;
    }

    server other;
    tls_context context;
    std::unique_ptr<tls_engine> link;
};

/// Texts of one record, of several, and at the borders.
constexpr auto sizes = {1, 2, 1'000, 16'383, 16'384, 16'385, 40'000, 100'000};

[[nodiscard]] std::string text_of(int size) {
    auto text = std::string{};
    for (auto i = 0; text.size() < static_cast<std::size_t>(size); ++i)
        text += std::to_string(i) + ' ';
    text.resize(static_cast<std::size_t>(size));
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_said_is_heard_in_both_directions) {
    for (const auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto c = conversation{{.ca_file = all().authority.file()},
                              "localhost",
                              [version](SSL_CTX* s) { SSL_CTX_set_max_proto_version(s, version); }};
        BOOST_TEST(!c.handshake());
        BOOST_TEST(SSL_version(c.other.get()) == version);
        for (const auto size : sizes) {
            const auto text = text_of(size);
            c.link->encrypt(text);
            c.other.commit(c.link->output());
            BOOST_TEST((std::exchange(c.other.heard, {}) == text));
            c.other.say(text);
            c.to_link(c.other.output());
            BOOST_TEST((c.read() == text));
        }
    }
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one) {
    auto c = conversation{};
    auto ec = error_code{};
    auto done = false;
    while (!done && !ec) {
        done = c.link->handshake(ec);
        c.other.commit(c.link->output());
        for (const auto byte : c.other.output()) {
            c.to_link({&byte, 1});
            done = done || c.link->handshake(ec);
        }
    }
    BOOST_TEST(done);
    c.other.commit(c.link->output());
    c.other.say(text_of(20'000));
    auto heard = std::string{};
    for (const auto byte : c.other.output()) {
        c.to_link({&byte, 1});
        heard += c.read();
    }
    BOOST_TEST((heard == text_of(20'000)));
}

/// The bound by which the stream knows what can have left.
BOOST_AUTO_TEST_CASE(encrypted_text_is_no_shorter_than_what_it_says) {
    auto c = conversation{};
    BOOST_TEST(!c.handshake());
    c.link->encrypt(text_of(40'000));
    const auto bytes = std::string{c.link->output()};
    for (std::size_t sent = 0; sent < bytes.size(); ++sent) {
        c.other.commit({bytes.data() + sent, 1});
        BOOST_REQUIRE(c.other.heard.size() <= sent + 1);
    }
    BOOST_TEST(c.other.heard.size() == 40'000U);
}

BOOST_AUTO_TEST_CASE(what_fills_the_room_in_one_read_fits_into_32_kib) {
    auto c = conversation{};
    BOOST_TEST(!c.handshake());
    auto into = std::string(std::size_t{32} * 1024, '\0');
    c.other.say(text_of(1'000'000));
    const auto bytes = c.other.output();
    auto heard = std::string{};
    for (std::size_t at = 0; at < bytes.size(); at += c.link->prepare().size()) {
        c.to_link(std::string_view{bytes}.substr(at, c.link->prepare().size()));
        auto ec = error_code{};
        const auto n = c.link->decrypt(into, ec);
        heard.append(into, 0, n);
        BOOST_TEST(n < into.size()); // there was nothing more
    }
    BOOST_TEST((heard == text_of(1'000'000)));
}

BOOST_AUTO_TEST_CASE(the_server_is_asked_for_its_name_but_not_for_an_address) {
    const auto asked = [](const tls_options& options, const std::string& host) {
        auto c = conversation{options, host};
        BOOST_TEST(!c.handshake());
        return c.other.name_asked_for();
    };
    const auto file = all().authority.file();
    BOOST_TEST(asked({.ca_file = file}, "localhost") == "localhost");
    BOOST_TEST(asked({.ca_file = file}, "localhost.") == "localhost");
    BOOST_TEST(asked({.ca_file = file}, "127.0.0.1") == "");
    BOOST_TEST(asked({.ca_file = file, .server_name = "localhost"}, "10.0.0.1") == "localhost");
    BOOST_TEST(asked({.ca_file = file, .server_name = "127.0.0.1"}, "h") == "");
}

BOOST_AUTO_TEST_CASE(who_has_no_right_to_its_name_is_not_trusted) {
    const auto file = all().authority.file();
    const auto end = [](const tls_options& options, const std::string& host) {
        return conversation{options, host}.handshake();
    };
    BOOST_TEST((end({.ca_file = file}, "other") == errc::untrusted_server));
    BOOST_TEST((end({.ca_file = file}, "10.0.0.1") == errc::untrusted_server));
    BOOST_TEST(
        (end({.ca_file = file, .server_name = "other"}, "localhost") == errc::untrusted_server));
    BOOST_TEST((end({}, "localhost") == errc::untrusted_server)); // by the system's authorities
    BOOST_TEST((end({.ca_file = all().we.certificate}, "localhost") == errc::untrusted_server));
    BOOST_TEST(!end({.verify_peer = false}, "other"));
}

/// As RFC 6125 allows a client to require.
BOOST_AUTO_TEST_CASE(a_wildcard_stands_for_a_whole_label_and_for_one) {
    const auto end = [](const test::identity& presented, const std::string& host) {
        const auto present = [&](SSL_CTX* s) {
            SSL_CTX_use_certificate_chain_file(s, presented.certificate.c_str());
            SSL_CTX_use_PrivateKey_file(s, presented.key.c_str(), SSL_FILETYPE_PEM);
        };
        return conversation{{.ca_file = all().authority.file()}, host, present}.handshake();
    };
    BOOST_TEST(!end(all().any_host, "cache-1.example.org"));
    for (const auto* host : {"example.org", "a.cache.example.org", "cache.org"})
        BOOST_TEST((end(all().any_host, host) == errc::untrusted_server), host);
    for (const auto* host : {"cache-1.example.org", "cache-2.example.org", "cache-3.example.org"})
        BOOST_TEST((end(all().parts, host) == errc::untrusted_server), host);
}

namespace {

/// Handshakes that servers of this thread have finished.
int handshakes = 0;

void count_handshake(const SSL* /*of*/, int where, int /*value*/) {
    handshakes += where == SSL_CB_HANDSHAKE_DONE ? 1 : 0;
}

} // namespace

// Only TLS 1.2 and older know renegotiation.
BOOST_AUTO_TEST_CASE(a_server_that_asks_for_another_handshake_gets_none) {
    handshakes = 0;
    auto c = conversation{{.ca_file = all().authority.file()}, "localhost", [](SSL_CTX* s) {
                              SSL_CTX_set_max_proto_version(s, TLS1_2_VERSION);
                              SSL_CTX_set_info_callback(s, count_handshake);
                          }};
    BOOST_TEST(!c.handshake());
    BOOST_TEST(handshakes == 1);
    BOOST_TEST(SSL_renegotiate(c.other.get()) == 1);
    BOOST_TEST(SSL_do_handshake(c.other.get()) == 1); // which sends the request
    const auto finished = handshakes;                 // with that too
    for (int i = 0; i < 5; ++i) {
        c.to_link(c.other.output());
        auto ec = error_code{};
        (void)c.read(ec);
        c.other.commit(c.link->output());
    }
    BOOST_TEST(handshakes == finished);
}

BOOST_AUTO_TEST_CASE(a_server_that_wants_a_certificate_refuses_who_has_none) {
    const auto demand = [](int version) {
        return [version](SSL_CTX* s) {
            SSL_CTX_set_max_proto_version(s, version);
            SSL_CTX_load_verify_file(s, all().authority.file().c_str());
            SSL_CTX_set_verify(s, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        };
    };
    for (const auto version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto options = tls_options{.ca_file = all().authority.file()};
        auto without = conversation{options, "localhost", demand(version)};
        auto ec = without.handshake();
        if (!ec) // with TLS 1.3 it says so afterwards
            BOOST_TEST(without.read(ec).empty());
        BOOST_TEST((ec == errc::auth_failed));
        options.cert_file = all().we.certificate;
        options.key_file = all().we.key;
        auto with = conversation{options, "localhost", demand(version)};
        BOOST_TEST(!with.handshake());
        BOOST_TEST(with.read().empty());
    }
}

BOOST_AUTO_TEST_CASE(tls_1_1_is_not_spoken) {
    auto c = conversation{{.ca_file = all().authority.file()}, "localhost", [](SSL_CTX* s) {
                              SSL_CTX_set_security_level(s, 0);
                              SSL_CTX_set_min_proto_version(s, TLS1_VERSION);
                              SSL_CTX_set_max_proto_version(s, TLS1_1_VERSION);
                          }};
    BOOST_TEST((c.handshake() == errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(what_is_not_tls_is_a_bad_reply) {
    for (const std::string_view said :
         {"-ERR unknown command\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01"}) {
        auto c = conversation{};
        auto ec = error_code{};
        BOOST_TEST(!c.link->handshake(ec));
        c.to_link(said);
        BOOST_TEST(!c.link->handshake(ec));
        BOOST_TEST((said.size() < 5 ? !ec : ec == errc::bad_reply));
    }
}

BOOST_AUTO_TEST_CASE(the_end_is_told_after_all_that_was_said_and_told_again) {
    auto c = conversation{};
    BOOST_TEST(!c.handshake());
    c.other.say("the last words");
    c.other.hang_up();
    c.to_link(c.other.output());
    auto ec = error_code{};
    BOOST_TEST(c.read(ec) == "the last words");
    BOOST_TEST((ec == errc::unavailable));
    BOOST_TEST(c.read(ec).empty());
    BOOST_TEST((ec == errc::unavailable));
    BOOST_CHECK_THROW(c.link->encrypt("too late"), colimit::error);
}

BOOST_AUTO_TEST_CASE(no_bit_of_a_record_can_be_changed) {
    for (std::size_t bit = 0; bit < std::size_t{8} * 60; bit += 7) {
        auto c = conversation{};
        BOOST_TEST(!c.handshake());
        c.other.say("good");
        c.to_link(c.other.output());
        c.other.say("a text of some length that goes by");
        auto bytes = c.other.output();
        if (bit / 8 >= bytes.size())
            break;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        c.to_link(bytes);
        auto ec = error_code{};
        BOOST_TEST(c.read(ec) == "good");
        // A length that has grown waits for more, as it must.
        if (bit / 8 != 3 && bit / 8 != 4)
            BOOST_TEST((ec == errc::unavailable));
    }
}

BOOST_AUTO_TEST_CASE(the_other_end_is_told_of_the_end_and_of_its_reason) {
    auto bytes = std::array<char, 256>{};
    auto c = conversation{};
    BOOST_TEST(!c.handshake());
    c.other.commit({bytes.data(), c.link->end(bytes)});
    BOOST_TEST(c.other.was_told_of_the_end());

    auto refused = conversation{{.ca_file = all().authority.file()}, "other"};
    auto ec = error_code{};
    (void)refused.link->handshake(ec);
    refused.other.commit(refused.link->output());
    refused.to_link(refused.other.output());
    (void)refused.link->handshake(ec);
    BOOST_TEST((ec == errc::untrusted_server));
    BOOST_TEST(refused.link->end(bytes) > 0U);
    BOOST_TEST(ERR_peek_error() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// A stream over TLS, and a server that sends data while much is being written to it.

#include <redis/connection/address.hpp>
#include <redis/connection/stream.hpp>
#include <redis/connection/tls_context.hpp>
#include <support/certificates.hpp>
#include <support/unit_test.hpp>

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

BOOST_AUTO_TEST_SUITE(tls_stream)

namespace {

using namespace colimit;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// More than the two ends of a connection hold together.
constexpr std::size_t much = std::size_t{32} << 20U;
constexpr std::string_view end_of_it = "and that is all";

/// The other end, in a thread of its own.
class blocking_server {
  public:
    explicit blocking_server(const test::identity& who)
        : context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
        SSL_CTX_use_certificate_chain_file(context_.get(), who.certificate.c_str());
        SSL_CTX_use_PrivateKey_file(context_.get(), who.key.c_str(), SSL_FILETYPE_PEM);
    }

    [[nodiscard]] std::string address() const {
        return "rediss://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

    /// Requests new keys right after the handshake, and sends a word; continues to read on request.
    void serve(std::future<void> go_on) {
        auto socket = acceptor_.accept();
        auto ssl = std::unique_ptr<SSL, void (*)(SSL*)>{SSL_new(context_.get()), SSL_free};
        SSL_set_fd(ssl.get(), socket.native_handle());
        if (SSL_accept(ssl.get()) != 1 ||
            SSL_key_update(ssl.get(), SSL_KEY_UPDATE_REQUESTED) != 1 ||
            SSL_write(ssl.get(), "x", 1) != 1)
            return;
        go_on.wait();
        auto piece = std::array<char, 16'384>{};
        while (heard.size() < much + end_of_it.size()) {
            const auto n = SSL_read(ssl.get(), piece.data(), static_cast<int>(piece.size()));
            if (n <= 0)
                return;
            heard.append(piece.data(), static_cast<std::size_t>(n));
        }
    }

    std::string heard;

  private:
    std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
    asio::io_context own_;
    tcp::acceptor acceptor_{own_, {asio::ip::address_v4::loopback(), 0}};
};

/// Writes what it has, one after the other, and listens meanwhile.
class talker final : public redis::stream_events, public std::enable_shared_from_this<talker> {
  public:
    talker(asio::io_context& c, redis::stream& s, std::string first, std::promise<void> has_heard)
        : context_(c), stream_(s), first_(std::move(first)), has_heard_(std::move(has_heard)) {}

    void on_connect(std::uint64_t /*connection*/, error_code ec) override {
        BOOST_REQUIRE_MESSAGE(!ec, ec.message());
        // Not from within: the end of the handshake is being sent then.
        asio::post(context_, [this] { stream_.write(shared_from_this(), first_); });
        stream_.read_some(shared_from_this(), into_);
    }
    void on_read(std::uint64_t /*connection*/, error_code ec, std::size_t bytes) override {
        BOOST_TEST(!ec);
        BOOST_TEST((std::string_view{into_.data(), bytes} == "x"));
        BOOST_TEST(writes == 0);
        has_heard_.set_value();
    }
    void on_write(std::uint64_t /*connection*/, error_code ec, std::size_t bytes) override {
        BOOST_TEST(!ec);
        BOOST_TEST(bytes == (writes == 0 ? first_ : end_of_it).size());
        if (writes++ == 0)
            stream_.write(shared_from_this(), end_of_it);
    }

    int writes = 0;

  private:
    asio::io_context& context_;
    redis::stream& stream_;
    std::string first_;
    std::promise<void> has_heard_;
    std::array<char, 64> into_{};
};

} // namespace

BOOST_AUTO_TEST_CASE(
    a_write_behind_the_handshake_is_told_of_when_all_has_left_and_new_keys_come_behind_it) {
    auto text = std::string(much, ' ');
    for (std::size_t i = 0; i < much; ++i)
        text[i] = static_cast<char>('a' + i * i % 23);

    auto authority = test::certificate_authority{};
    auto server = blocking_server{authority.sign("us")};
    auto context = asio::io_context{1};
    auto options = tls_options{};
    options.ca_file = authority.file();
    auto stream = redis::stream{context.get_executor(), redis::parse_address(server.address()),
                                std::make_unique<redis::tls_context>(options)};
    auto has_heard = std::promise<void>{};
    auto other_end = std::thread{
        [&, go_on = has_heard.get_future()]() mutable { server.serve(std::move(go_on)); }};
    auto talks = std::make_shared<talker>(context, stream, text, std::move(has_heard));
    stream.connect(talks, std::chrono::steady_clock::now() + std::chrono::seconds{60});
    context.run_for(std::chrono::seconds{60});
    BOOST_TEST(talks->writes == 2);
    stream.close();
    talks.reset();
    other_end.join();
    BOOST_TEST(server.heard.size() == much + end_of_it.size());
    BOOST_TEST((server.heard == text + std::string{end_of_it}));
}

BOOST_AUTO_TEST_SUITE_END()

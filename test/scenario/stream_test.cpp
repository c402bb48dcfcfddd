// SPDX-License-Identifier: BSL-1.0
//
// A stream whose attempt to connect is over before the address of its host is known.

#include <redis/connection/address.hpp>
#include <redis/connection/stream.hpp>
#include <scenario/world.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

BOOST_AUTO_TEST_SUITE(streams)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using asio::ip::tcp;

class listener final : public redis::stream_events {
  public:
    void on_connect(std::uint64_t connection, error_code ec) override {
        BOOST_TEST(!ec, ec.message());
        last = connection;
        ++connects;
    }
    void on_read(std::uint64_t /*connection*/, error_code /*ec*/, std::size_t /*n*/) override {}
    void on_write(std::uint64_t /*connection*/, error_code /*ec*/, std::size_t /*n*/) override {}

    int connects = 0;
    std::uint64_t last = 0;
};

struct fixture : scenario::world {
    fixture() {
        os.names["localhost"] = {{0x7f000001}};
        acceptor.non_blocking(true);
    }

    void connect() { stream.connect(to, std::chrono::steady_clock::now() + 10s); }
    /// Until nothing is outstanding any more.
    void run() {
        context.restart();
        context.run();
    }
    [[nodiscard]] bool was_connected() {
        auto ec = error_code{};
        (void)acceptor.accept(ec);
        return !ec;
    }

    tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    redis::stream stream{context.get_executor(),
                         redis::parse_address("redis://localhost:" +
                                              std::to_string(acceptor.local_endpoint().port())),
                         nullptr};
    std::shared_ptr<listener> to = std::make_shared<listener>();
};

} // namespace

BOOST_FIXTURE_TEST_CASE(an_address_that_is_found_when_the_attempt_is_over_serves_the_next_one,
                        fixture) {
    connect();
    stream.close();
    run();
    BOOST_TEST(to->connects == 0);
    BOOST_TEST(!was_connected());
    connect();
    run();
    BOOST_TEST(to->connects == 1);
    BOOST_TEST(to->last == stream.connection());
    BOOST_TEST(was_connected());
    BOOST_TEST((now() == 0us));
}

BOOST_FIXTURE_TEST_CASE(after_the_end_of_a_stream_nobody_hears_of_an_address, fixture) {
    connect();
    stream.shut_down();
    run();
    BOOST_TEST(to->connects == 0);
    BOOST_TEST(!was_connected());
}

BOOST_AUTO_TEST_SUITE_END()

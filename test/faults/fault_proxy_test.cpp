// SPDX-License-Identifier: BSL-1.0
//
// The bad network is as bad as it is told to be, and no worse: each kind of fault, seen by a client
// that asks PING, ECHO and INCR.

#include <support/child_process.hpp>
#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(fault_proxy)

namespace {

using namespace std::literals;
using namespace colimit;
namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using test::fault;
using test::fault_kind;
using test::way;

constexpr std::string_view pong = "+PONG\r\n";

/// A client that says bytes and hears bytes.
struct conversation {
    explicit conversation(const fault& wrong)
        : proxy(context, server.address(),
                [wrong](int connection) { return connection == 1 ? wrong : fault{}; }),
          socket(context) {
        const auto colon = proxy.address().rfind(':');
        const auto port = static_cast<std::uint16_t>(std::stoi(proxy.address().substr(colon + 1)));
        socket.connect(tcp::endpoint{asio::ip::address_v4::loopback(), port});
    }

    void say(std::string_view bytes) { asio::write(socket, asio::buffer(bytes)); }
    void ping(int times) {
        for (int i = 0; i < times; ++i)
            say("*1\r\n$4\r\nPING\r\n");
    }

    /// All that comes until the end, or until so much is there, or nothing comes for a while.
    std::string hear(std::size_t enough) {
        auto heard = std::string{};
        auto over = false;
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                char piece[1024];
                while (heard.size() < enough) {
                    const auto size = co_await socket.async_read_some(
                        asio::buffer(piece), asio::redirect_error(asio::use_awaitable, ended));
                    heard.append(piece, size);
                    if (ended)
                        break;
                }
                over = true;
            },
            test::rethrow);
        const auto end = std::chrono::steady_clock::now() + (enough == 0 ? 0s : 20s);
        context.restart();
        while (!over && std::chrono::steady_clock::now() < end)
            context.run_one_for(20ms);
        context.poll(); // the proxy counts a message behind the write that we have heard
        return heard;
    }

    test::redis_server server;
    asio::io_context context{1};
    test::fault_proxy proxy;
    tcp::socket socket;
    error_code ended;
};

[[nodiscard]] std::string pongs(std::size_t n) {
    auto out = std::string{};
    for (; n > 0; --n)
        out += pong;
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_fault_everything_passes) {
    auto c = conversation{{}};
    c.ping(3);
    BOOST_TEST(c.hear(21) == pongs(3));
    BOOST_TEST(c.proxy.connections() == 1);
    BOOST_TEST(c.proxy.on(1).passed[0] == 3U);
    BOOST_TEST(c.proxy.on(1).passed[1] == 3U);
    BOOST_TEST(!c.proxy.on(1).struck);
}

BOOST_AUTO_TEST_CASE(a_connection_ends_behind_any_byte) {
    for (const auto kind : {fault_kind::fin, fault_kind::half_close, fault_kind::reset})
        for (std::size_t byte = 0; byte <= pong.size(); ++byte) {
            auto c = conversation{{.kind = kind, .message = 1, .byte = byte}};
            c.ping(2);
            const auto heard = c.hear(100);
            if (kind == fault_kind::reset) // what has not been read yet may go with it
                BOOST_TEST((c.ended == asio::error::connection_reset));
            else
                BOOST_TEST((c.ended == asio::error::eof));
            BOOST_TEST(pongs(2).substr(0, pong.size() + byte).starts_with(heard));
            if (kind != fault_kind::reset)
                BOOST_TEST(heard.size() == pong.size() + byte);
            BOOST_TEST(c.proxy.on(1).passed[1] == (byte == pong.size() ? 2U : 1U));
        }
}

BOOST_AUTO_TEST_CASE(a_command_that_was_cut_is_not_run_and_one_whose_reply_was_cut_is) {
    for (const auto w : {way::to_server, way::to_client}) {
        auto c = conversation{{.kind = fault_kind::fin, .way = w, .message = 1, .byte = 3}};
        c.say("*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$4\r\nINCR\r\n$1\r\nb\r\n");
        (void)c.hear(100);
        BOOST_TEST((c.ended == asio::error::eof));
        auto look = c.server.connect();
        BOOST_TEST(look.get("a").value_or("") == "1");
        BOOST_TEST(look.get("b").has_value() == (w == way::to_client));
    }
}

BOOST_AUTO_TEST_CASE(a_stalled_way_says_no_more_and_the_connection_stays) {
    auto c = conversation{{.kind = fault_kind::stall, .message = 1, .byte = 3}};
    c.ping(3);
    BOOST_TEST(c.hear(10) == pongs(1) + "+PO");
    auto look = c.server.connect();
    test::run_until(c.context, [&] { return test::calls_of(look, "ping") >= 3; });
    BOOST_TEST(!c.ended);
    BOOST_TEST(c.proxy.on(1).passed[1] == 1U);
}

BOOST_AUTO_TEST_CASE(a_deaf_way_lets_the_senders_bytes_pile_up) {
    auto c = conversation{{.kind = fault_kind::deaf, .way = way::to_server, .message = 0}};
    c.socket.non_blocking(true);
    const auto much = std::string(64 * 1024, 'x');
    auto ec = error_code{};
    auto said = std::size_t{0};
    c.say("*1\r\n$4\r\nPING\r\n");
    test::run_until(c.context, [&] { return c.proxy.connections() == 1 && c.proxy.on(1).struck; });
    while (!ec && said < std::size_t{64} * 1024 * 1024) {
        said += c.socket.write_some(asio::buffer(much), ec);
        c.context.poll();
    }
    BOOST_TEST((ec == asio::error::would_block));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_started_gets_no_socket_of_the_proxy) {
    auto c = conversation{{}};
    c.ping(1);
    BOOST_TEST(c.hear(7) == pongs(1));
    auto program = test::child_process{};
    program.start({"sleep", "infinity"});
    c.proxy.refuse();
    BOOST_TEST(c.hear(1).empty());
    BOOST_TEST(static_cast<bool>(c.ended));
    c.proxy.accept(); // on the same port
}

BOOST_AUTO_TEST_CASE(a_trickle_comes_in_pieces_with_pauses) {
    auto c = conversation{
        {.kind = fault_kind::trickle, .message = 0, .byte = 2, .pieces = 1, .pace = 5ms}};
    const auto begin = std::chrono::steady_clock::now();
    c.ping(2);
    BOOST_TEST(c.hear(14) == pongs(2));
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= 12 * 5ms));
}

BOOST_AUTO_TEST_CASE(one_bit_is_another) {
    auto c = conversation{{.kind = fault_kind::flip, .message = 1, .byte = 1, .bit = 0}};
    c.ping(3);
    BOOST_TEST(c.hear(21) == pongs(1) + "+QONG\r\n" + pongs(1));
}

BOOST_AUTO_TEST_CASE(replies_are_dropped_doubled_and_swapped) {
    const auto heard_with = [](fault_kind kind, std::size_t enough) {
        auto c = conversation{{.kind = kind, .message = 1}};
        for (const auto* word : {"a", "b", "c", "d"})
            c.say("*2\r\n$4\r\nECHO\r\n$1\r\n" + std::string{word} + "\r\n");
        return c.hear(enough);
    };
    const auto a = "$1\r\na\r\n"s, b = "$1\r\nb\r\n"s, d = "$1\r\nd\r\n"s;
    const auto third = "$1\r\nc\r\n"s;
    BOOST_TEST(heard_with(fault_kind::drop, 21) == a + third + d);
    BOOST_TEST(heard_with(fault_kind::duplicate, 35) == a + b + b + third + d);
    BOOST_TEST(heard_with(fault_kind::swap, 28) == a + third + b + d);
}

BOOST_AUTO_TEST_CASE(a_dropped_command_is_not_run) {
    auto c = conversation{{.kind = fault_kind::drop, .way = way::to_server, .message = 0}};
    c.say("*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$4\r\nINCR\r\n$1\r\nb\r\n");
    BOOST_TEST(c.hear(4) == ":1\r\n");
    auto look = c.server.connect();
    BOOST_TEST(!look.get("a"));
}

BOOST_AUTO_TEST_CASE(connections_are_refused_until_they_are_accepted_again) {
    auto c = conversation{{}};
    c.ping(1);
    BOOST_TEST(c.hear(7) == pongs(1));
    c.proxy.refuse();
    auto second = tcp::socket{c.context};
    const auto where = c.socket.remote_endpoint();
    auto ec = error_code{};
    second.connect(where, ec);
    BOOST_TEST((ec == asio::error::connection_refused));
    (void)c.hear(100);
    BOOST_TEST(c.ended.failed());
    c.proxy.accept();
    second.close();
    second.connect(where, ec);
    BOOST_TEST(!ec);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Sockets of the simulated machine that are each other's peers do what those of Linux do.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <scenario/world.hpp>
#include <support/fresh_folder.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::loopback_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using local = asio::local::stream_protocol;
using stream = asio::generic::stream_protocol::socket;
using boost::system::error_code;
namespace error = asio::error;

constexpr auto token = asio::as_tuple(asio::use_awaitable);
constexpr auto families = {true, false}; // unix sockets, and TCP

const auto here = tcp::endpoint{asio::ip::address_v4::loopback(), 0};

/// A listening socket of either family, and the two ends of a connection to it.
struct peers : scenario::world {
    template<class Acceptor>
    void join(Acceptor& acceptor) {
        run([&]() -> asio::awaitable<void> {
            auto made = typename Acceptor::protocol_type::socket{context};
            co_await made.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
            client = std::move(made);
            auto accepted = co_await acceptor.async_accept(asio::use_awaitable);
            server = std::move(accepted);
        });
    }
    void join(bool is_unix) {
        if (is_unix) {
            auto acceptor = local::acceptor{context, {folder.path() + "/s"}};
            join(acceptor);
        } else {
            auto acceptor = tcp::acceptor{context, here};
            join(acceptor);
        }
    }

    asio::awaitable<std::string> read(stream& from) {
        char bytes[100];
        const auto [ec, n] = co_await from.async_read_some(asio::buffer(bytes), token);
        co_return ec ? ec.message() : std::string{bytes, n};
    }
    asio::awaitable<error_code> write(stream& to, std::string_view text) {
        const auto [ec, n] = co_await asio::async_write(to, asio::buffer(text), token);
        co_return ec;
    }

    test::fresh_folder folder;
    stream client{context};
    stream server{context};
};

/// Sends until the buffers are full.
[[nodiscard]] std::size_t fill(stream& to) {
    const auto text = std::string(10'000, 'x');
    to.non_blocking(true);
    auto sent = std::size_t{0};
    for (auto ec = error_code{}; !ec;)
        sent += to.write_some(asio::buffer(text), ec);
    return sent;
}

BOOST_FIXTURE_TEST_SUITE(loopbacks, peers)

BOOST_DATA_TEST_CASE(bytes_arrive_in_both_directions_in_no_time, families) {
    join(sample);
    run([&]() -> asio::awaitable<void> {
        (void)co_await write(client, "there");
        auto text = co_await read(server);
        BOOST_TEST(text == "there");
        asio::co_spawn(context, write(server, "back"), asio::detached);
        text = co_await read(client);
        BOOST_TEST(text == "back");
    });
    BOOST_TEST((now() == 0us));
}

BOOST_DATA_TEST_CASE(a_half_close_is_read_as_an_end, families) {
    join(sample);
    run([&]() -> asio::awaitable<void> {
        (void)co_await write(client, "last");
        client.shutdown(stream::shutdown_send);
        auto text = co_await read(server);
        BOOST_TEST(text == "last");
        text = co_await read(server);
        BOOST_TEST(text == error_code{error::eof}.message());
        auto ec = co_await write(server, "still");
        BOOST_TEST(!ec);
        text = co_await read(client);
        BOOST_TEST(text == "still");
        ec = co_await write(client, "more");
        BOOST_TEST((ec == error::broken_pipe));
    });
}

BOOST_DATA_TEST_CASE(a_read_ends_when_the_peer_closes, families) {
    join(sample);
    after(1s, [&] { server.close(); });
    run([&]() -> asio::awaitable<void> {
        const auto text = co_await read(client);
        BOOST_TEST(text == error_code{error::eof}.message());
        BOOST_TEST((now() == 1s));
        auto ec = co_await write(client, "on its way"); // TCP hears of it by the answer
        BOOST_TEST(ec.failed() == sample);
        ec = co_await write(client, "more");
        BOOST_TEST((ec == error::broken_pipe));
    });
}

BOOST_DATA_TEST_CASE(closing_with_unread_bytes_resets, families) {
    join(sample);
    run([&]() -> asio::awaitable<void> {
        (void)co_await write(server, "before");
        (void)co_await write(client, "unread");
        server.close();
        auto text = co_await read(client);
        BOOST_TEST(text == "before");
        text = co_await read(client);
        BOOST_TEST(text == error_code{error::connection_reset}.message());
    });
}

BOOST_AUTO_TEST_CASE(a_connection_can_be_reset_by_an_option) {
    join(false);
    server.set_option(asio::socket_base::linger{true, 0});
    server.close();
    run([&]() -> asio::awaitable<void> {
        const auto text = co_await read(client);
        BOOST_TEST(text == error_code{error::connection_reset}.message());
    });
}

BOOST_DATA_TEST_CASE(full_buffers_let_a_writer_wait_until_the_peer_reads, families) {
    join(sample);
    const auto size = fill(client);
    BOOST_TEST(size >= 100'000U);
    after(2s, [&] {
        auto into = std::string(size, ' ');
        BOOST_TEST(asio::read(server, asio::buffer(into)) == size);
    });
    run([&]() -> asio::awaitable<void> {
        const auto ec = co_await write(client, "next");
        BOOST_TEST(!ec);
        BOOST_TEST((now() == 2s));
        const auto text = co_await read(server);
        BOOST_TEST(text == "next");
    });
}

BOOST_AUTO_TEST_CASE(a_place_without_a_listener_refuses) {
    auto acceptor = tcp::acceptor{context, here};
    const auto where = acceptor.local_endpoint();
    acceptor.close();
    run([&]() -> asio::awaitable<void> {
        auto s = tcp::socket{context};
        const auto [ec] = co_await s.async_connect(where, token);
        BOOST_TEST((ec == error::connection_refused));
    });
}

BOOST_AUTO_TEST_CASE(a_path_is_that_of_a_file) {
    const auto path = folder.path() + "/s";
    const auto connect = [&] {
        auto ec = error_code{};
        auto s = local::socket{context};
        s.connect({path}, ec);
        return ec;
    };
    BOOST_TEST((connect() == boost::system::errc::no_such_file_or_directory));
    {
        const auto first = local::acceptor{context, {path}};
        BOOST_TEST(!connect());
        auto second = local::acceptor{context, local{}};
        auto ec = error_code{};
        second.bind({path}, ec);
        BOOST_TEST((ec == error::address_in_use));
    }
    BOOST_TEST((connect() == error::connection_refused));
    std::filesystem::remove(path);
    const auto again = local::acceptor{context, {path}};
    BOOST_TEST(!connect());
}

BOOST_AUTO_TEST_CASE(a_port_has_one_listener) {
    const auto first = tcp::acceptor{context, here};
    BOOST_TEST(first.local_endpoint().port() != 0);
    BOOST_CHECK_THROW((tcp::acceptor{context, first.local_endpoint()}),
                      boost::system::system_error);
    const auto elsewhere = tcp::acceptor{
        context, {asio::ip::make_address("127.1.2.3"), first.local_endpoint().port()}};
    BOOST_TEST(elsewhere.local_endpoint().address().to_string() == "127.1.2.3");
    BOOST_CHECK_THROW((tcp::acceptor{context, {asio::ip::make_address("10.0.0.1"), 1}}),
                      boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(both_ends_know_each_other) {
    auto acceptor = tcp::acceptor{context, {asio::ip::address_v4::any(), 0}};
    auto s = tcp::socket{context};
    s.connect({asio::ip::make_address("127.3.2.1"), acceptor.local_endpoint().port()});
    const auto accepted = acceptor.accept();
    BOOST_TEST(accepted.remote_endpoint() == s.local_endpoint());
    BOOST_TEST(accepted.local_endpoint() == s.remote_endpoint());
    BOOST_TEST(s.remote_endpoint().address().to_string() == "127.3.2.1");
}

BOOST_AUTO_TEST_CASE(a_client_tries_again_while_the_backlog_is_full) {
    auto acceptor = tcp::acceptor{context, tcp::v4()};
    acceptor.bind(here);
    acceptor.listen(0);
    run([&]() -> asio::awaitable<void> {
        auto first = tcp::socket{context};
        co_await first.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
        after(1'500ms, [&] { (void)acceptor.accept(); });
        auto second = tcp::socket{context};
        co_await second.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
        BOOST_TEST((now() == 3s)); // tried again after 1 s and 2 s
    });
}

BOOST_DATA_TEST_CASE(a_listener_that_closes_resets_connections_that_it_has_not_accepted, families) {
    const auto check = [&](auto acceptor) {
        using socket = typename decltype(acceptor)::protocol_type::socket;
        run([&]() -> asio::awaitable<void> {
            auto s = socket{context};
            co_await s.async_connect(acceptor.local_endpoint(), asio::use_awaitable);
            acceptor.close();
            client = std::move(s);
            const auto text = co_await read(client);
            BOOST_TEST(text == error_code{error::connection_reset}.message());
        });
    };
    sample ? check(local::acceptor{context, {folder.path() + "/s"}})
           : check(tcp::acceptor{context, here});
}

BOOST_AUTO_TEST_CASE(each_context_has_its_own_events_and_timers) {
    auto other = asio::io_context{1};
    auto acceptor = tcp::acceptor{other, here};
    auto early = asio::steady_timer{other, 1s};
    auto ended = std::chrono::steady_clock::time_point{};
    early.async_wait([&](error_code) { ended = std::chrono::steady_clock::now(); });
    const auto begin = std::chrono::steady_clock::now();
    run_for(5s);
    BOOST_TEST((ended == decltype(ended){})); // that context did not run
    other.run();
    BOOST_TEST((ended - begin == 5s));
}

BOOST_AUTO_TEST_CASE(a_thread_sleeps_in_virtual_time) {
    auto seen = 0us;
    after(1h, [&] { seen = now(); });
    std::this_thread::sleep_for(2h);
    BOOST_TEST((seen == 1h));
    BOOST_TEST((now() == 2h));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::loopback_test

// SPDX-License-Identifier: BSL-1.0
//
// A node of a cluster that is controlled by the test, has all addresses of this machine, and sends
// each batch to another one of them.

#include <redis/protocol/hash_slot.hpp>
#include <support/live_limiter.hpp>
#include <support/script_double.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(hostile_clusters)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using asio::ip::tcp;

[[nodiscard]] std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string{text} + "\r\n";
}

/// It says that it serves all slots, and sends each call elsewhere.
class hostile_node {
  public:
    explicit hostile_node(asio::io_context& context)
        : acceptor_(context, {asio::ip::address_v4::any(), 0}) {
        asio::co_spawn(context, accept(), asio::detached);
    }

    [[nodiscard]] std::string port() const {
        return std::to_string(acceptor_.local_endpoint().port());
    }
    [[nodiscard]] int redirections() const noexcept { return redirections_; }

  private:
    asio::awaitable<void> accept() {
        for (;;)
            asio::co_spawn(acceptor_.get_executor(),
                           serve(co_await acceptor_.async_accept(asio::use_awaitable)),
                           [](const std::exception_ptr& /*the client has gone*/) {});
    }

    asio::awaitable<void> serve(tcp::socket socket) {
        auto received = std::string{};
        for (;;) {
            char bytes[4096];
            const auto n =
                co_await socket.async_read_some(asio::buffer(bytes), asio::use_awaitable);
            received.append(bytes, n);
            auto out = std::string{};
            for (const auto& words : test::take_commands(received))
                out += reply_to(words);
            co_await asio::async_write(socket, asio::buffer(out), asio::use_awaitable);
        }
    }

    [[nodiscard]] std::string reply_to(const test::command& words) {
        if (words.at(0) == "HELLO")
            return "%1\r\n" + bulk("mode") + bulk("cluster");
        if (words.at(0) == "SCRIPT")
            return std::string{test::load_reply};
        if (words.at(0) == "CLUSTER" && words.at(1) == "INFO")
            return bulk("cluster_state:ok\r\ncluster_current_epoch:1\r\n");
        if (words.at(0) == "CLUSTER")
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n" + bulk("127.0.0.1") + ":" + port() +
                   "\r\n" + bulk("id");
        if (words.at(2) == "0")
            return std::string{test::permissions_reply};
        ++redirections_;
        return "-MOVED " + std::to_string(redis::hash_slot(words.at(3))) + " 127.1." +
               std::to_string(redirections_ / 256 % 256) + "." +
               std::to_string(redirections_ % 256) + ":" + port() + "\r\n";
    }

    tcp::acceptor acceptor_;
    int redirections_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_node_that_names_ever_new_servers_does_not_take_all_memory) {
    constexpr std::size_t most_servers = 128;
    auto servers = std::set<std::string, std::less<>>{};
    auto c = config{};
    auto context = asio::io_context{1};
    auto node = hostile_node{context};
    c.server = "redis+cluster://127.0.0.1:" + node.port();
    c.timeout = 300ms;
    c.may_connect = [&](std::string_view host, std::uint16_t /*port*/) {
        servers.emplace(host);
        return true;
    };
    auto limits = limiter{context.get_executor(), c};
    const auto rules = policy{"p", gcra(100, 1s)};
    const auto begin = std::chrono::steady_clock::now();
    auto ended = 0;
    while (node.redirections() < 500) {
        ended = 0;
        for (auto i = 0; i < 300; ++i)
            limits.allow("k" + std::to_string(i), rules,
                         [&](error_code /*ec*/, decision /*d*/) { ++ended; });
        test::run_until(context, [&] { return ended == 300; });
    }
    // A server that is not in the map is left after one to two seconds.
    const auto seconds = std::chrono::steady_clock::now() - begin;
    const auto generations = static_cast<std::size_t>(seconds / 1s) + 1;
    const auto asked_for_the_map = 20 * generations; // at most
    BOOST_TEST(servers.size() <= most_servers * generations + asked_for_the_map);
    BOOST_TEST_MESSAGE(servers.size() << " servers in " << seconds / 1ms << " ms, "
                                      << node.redirections() << " redirections");
    BOOST_TEST(limits.last_error().has_value());
    limits.close();
}

BOOST_AUTO_TEST_SUITE_END()

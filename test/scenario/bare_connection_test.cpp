// SPDX-License-Identifier: BSL-1.0
//
// A connection without a limiter: its requests are ECHO commands, and its server is controlled by
// the test. So it is shown to need no policy and no call.

#include <base/thread_lock.hpp>
#include <redis/connection/connection.hpp>
#include <scenario/world.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(bare_connections, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

class echoes final : public redis::requests {
  public:
    void lose_connection(std::uint64_t sent) override {
        while (!in_flight_.empty()) {
            auto& last = in_flight_.back();
            if (last.from < sent)
                unknown.push_back(last.text);
            else
                waiting.push_front(last.text);
            in_flight_.pop_back();
        }
    }
    [[nodiscard]] bool wants_to_write() const noexcept override { return !waiting.empty(); }
    [[nodiscard]] bool has_backlog() const noexcept override { return false; }
    void write(std::string& out, std::uint64_t position, std::int64_t now) override {
        const auto begin = out.size();
        for (; !waiting.empty(); waiting.pop_front()) {
            in_flight_.push_back({position + out.size() - begin, now, waiting.front()});
            redis::resp::append_command(out, {"ECHO", waiting.front()});
        }
    }
    [[nodiscard]] bool expects_reply() const noexcept override { return !in_flight_.empty(); }
    [[nodiscard]] std::int64_t oldest_sent_at() const noexcept override {
        return in_flight_.front().at;
    }
    [[nodiscard]] std::optional<redis::recovery> read_reply(const redis::resp::decoder& reply,
                                                            std::string_view bytes) override {
        const auto text = reply.text(reply.nodes().front(), bytes);
        if (text != in_flight_.front().text)
            return std::nullopt;
        replies.emplace_back(text);
        in_flight_.pop_front();
        return redis::recovery::keep;
    }
    [[nodiscard]] std::optional<std::int64_t> next_deadline() const noexcept override {
        return std::nullopt;
    }
    bool expire(std::int64_t /*now*/, errc /*unsent*/) override { return false; }
    bool expire_unsent(std::int64_t /*now*/) override { return false; }
    [[nodiscard]] bool has_ended() const noexcept override { return !replies.empty(); }

    void read_push(const redis::resp::decoder& message, std::string_view bytes) override {
        pushes.emplace_back(message.text(message.nodes()[1], bytes));
    }

    std::deque<std::string> waiting;
    std::vector<std::string> pushes;
    std::vector<std::string> replies;
    std::vector<std::string> unknown;

  private:
    struct sent {
        std::uint64_t from;
        std::int64_t at;
        std::string text;
    };
    std::deque<sent> in_flight_;
};

struct silent_sink final : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        if (what.is_own)
            last = what.text;
    }
    std::string last;
};

/// One connection and its owner.
class echo_client final : public redis::connection_user,
                          public std::enable_shared_from_this<echo_client> {
  public:
    echo_client(asio::io_context& context, const std::string& server)
        : connection(context.get_executor(), lock_, settings(server), calls, sink, *this, life_) {}

    [[nodiscard]] static std::shared_ptr<echo_client> make(asio::io_context& context,
                                                           const std::string& server) {
        auto made = std::make_shared<echo_client>(context, server);
        made->life_ = made;
        return made;
    }

    void suspend() {
        connection.suspend();
        take_events();
    }
    void ask(std::string text) {
        calls.waiting.push_back(std::move(text));
        connection.flush();
        connection.wait();
    }

    echoes calls;
    int ready = 0;
    int lost_ready = 0;
    int answers = 0;

  private:
    [[nodiscard]] static redis::connection_settings settings(const std::string& server) {
        auto made = redis::connection_settings{};
        made.session.probe_key = "probe";
        made.session.reconnect_delay_min = 1'000;
        made.where = redis::parse_address(server);
        made.may_move = true;
        made.timeout = 1'000'000;
        return made;
    }

    void on_events() override {
        take_events();
        connection.flush();
        connection.wait();
    }
    void take_events() {
        const auto happened = connection.take_events();
        ready += happened.ready ? 1 : 0;
        lost_ready += happened.lost && happened.was_ready ? 1 : 0;
        answers += happened.answered ? 1 : 0;
    }

    detail::thread_lock lock_{false};
    std::weak_ptr<void> life_; ///< itself

  public:
    silent_sink sink;
    redis::connection connection;
};

[[nodiscard]] std::string reply_to(const test::command& words) {
    return "$" + std::to_string(words.at(1).size()) + "\r\n" + words.at(1) + "\r\n";
}

asio::awaitable<void> echo(test::peer_connection& c) {
    for (;;) {
        const auto words = co_await c.next();
        const auto answer = reply_to(words);
        co_await c.send(answer);
    }
}

asio::awaitable<void> greet_and_echo(test::peer_connection& c) {
    co_await c.greet();
    co_await echo(c);
}

} // namespace

BOOST_AUTO_TEST_CASE(several_of_them_serve_one_owner_each) {
    auto peer = test::scripted_peer{context, greet_and_echo};
    auto clients = std::vector<std::shared_ptr<echo_client>>{};
    for (int i = 0; i < 3; ++i) {
        auto& made = clients.emplace_back(echo_client::make(context, peer.address()));
        made->connection.open();
        made->ask("before " + std::to_string(i));
    }
    run_until([&] {
        return std::ranges::all_of(clients, [](const auto& c) { return c->answers == 1; });
    });
    for (int i = 0; i < 3; ++i)
        clients[static_cast<std::size_t>(i)]->ask("after " + std::to_string(i));
    run_until([&] {
        return std::ranges::all_of(clients, [](const auto& c) { return c->answers == 2; });
    });
    BOOST_TEST(peer.connections() == 3);
    for (int i = 0; i < 3; ++i) {
        const auto& c = *clients[static_cast<std::size_t>(i)];
        BOOST_TEST(c.ready == 1);
        BOOST_TEST(c.connection.is_ready());
        BOOST_TEST(c.calls.replies.at(0) == "before " + std::to_string(i));
        BOOST_TEST(c.calls.replies.at(1) == "after " + std::to_string(i));
        clients[static_cast<std::size_t>(i)]->connection.close(true);
    }
}

BOOST_AUTO_TEST_CASE(what_had_left_is_unknown_and_what_had_not_is_sent_on_the_next) {
    auto peer = test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                        co_await c.greet();
                                        if (c.number == 1) {
                                            (void)co_await c.next(); // and is lost with it
                                            c.close();
                                            co_return;
                                        }
                                        co_await echo(c);
                                    }};
    auto client = echo_client::make(context, peer.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return client->lost_ready == 1; });
    BOOST_TEST(!client->connection.is_ready());
    BOOST_TEST(client->calls.unknown.size() == 1U);
    client->ask("second");
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(client->ready == 2);
    BOOST_TEST(client->calls.replies.at(0) == "second");
    BOOST_TEST(client->connection.connections() == 2U);
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_reply_to_another_request_ends_the_connection) {
    auto peer = test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                        co_await c.greet();
                                        if (c.number == 1) {
                                            (void)co_await c.next();
                                            co_await c.send("$5\r\nother\r\n");
                                        }
                                        co_await echo(c);
                                    }};
    auto client = echo_client::make(context, peer.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return client->ready == 2; });
    BOOST_TEST(client->lost_ready == 1);
    BOOST_TEST(client->calls.unknown.at(0) == "first");
    BOOST_TEST(client->answers == 0);
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_message_between_replies_is_not_one) {
    auto peer = test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                        co_await c.greet();
                                        const auto answer = reply_to(co_await c.next());
                                        co_await c.send(">2\r\n$4\r\nnews\r\n$-1\r\n");
                                        co_await c.send(answer);
                                        co_await echo(c);
                                    }};
    auto client = echo_client::make(context, peer.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(client->calls.pushes.at(0) == "news");
    BOOST_TEST(client->calls.replies.at(0) == "first");
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_move_waits_for_the_replies_that_the_server_owes) {
    auto is_moved = false;
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet();
                                       const auto answer = reply_to(co_await c.next());
                                       co_await test::until([&] { return is_moved; });
                                       co_await c.send(answer);
                                       (void)co_await c.next(); // it leaves
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return !client->calls.waiting.empty() || client->ready == 1; });
    run_until([&] { return client->calls.waiting.empty(); });
    client->connection.move_to(redis::parse_address(next.address()));
    client->ask("second");
    is_moved = true;
    run_until([&] { return client->answers == 2; });
    BOOST_TEST(client->calls.replies.at(0) == "first");
    BOOST_TEST(client->calls.replies.at(1) == "second");
    BOOST_TEST(client->calls.unknown.empty());
    BOOST_TEST(old.connections() == 1);
    BOOST_TEST(next.connections() == 1);
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_move_does_not_wait_for_a_server_that_is_silent) {
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet();
                                       for (;;)
                                           (void)co_await c.next();
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return client->ready == 1 && client->calls.waiting.empty(); });
    client->connection.move_to(redis::parse_address(next.address()));
    client->ask("second");
    run_until([&] { return client->answers == 1; });
    // It was left, not lost because it was silent for too long.
    BOOST_TEST(client->sink.last == "");
    BOOST_TEST((now() <= 1s)); // connection_settings::timeout
    BOOST_TEST(client->calls.replies.at(0) == "second");
    BOOST_TEST(client->calls.unknown.at(0) == "first");
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_connection_that_has_no_address_yet_is_opened_by_the_first) {
    auto peer = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, "redis+sentinel://127.0.0.1/m");
    client->ask("first");
    client->connection.move_to(redis::parse_address(peer.address()));
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(client->calls.replies.at(0) == "first");
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_suspended_connection_is_closed_and_is_opened_by_a_move) {
    auto is_left = false;
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet();
                                       try {
                                           co_await echo(c);
                                       } catch (const boost::system::system_error&) {
                                           is_left = true;
                                       }
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return client->answers == 1; });
    client->suspend();
    BOOST_TEST(!client->connection.is_ready());
    BOOST_TEST(client->lost_ready == 1);
    client->suspend(); // nothing is left to be done
    BOOST_TEST(client->lost_ready == 1);
    client->ask("second");
    run_until([&] { return is_left; });
    BOOST_TEST(client->calls.waiting.size() == 1U);
    client->connection.move_to(redis::parse_address(next.address()));
    run_until([&] { return client->answers == 2; });
    BOOST_TEST(client->calls.replies.at(1) == "second");
    BOOST_TEST(client->calls.unknown.empty());
    BOOST_TEST(client->connection.breaker_openings() == 0U);
    BOOST_TEST(client->sink.last == "");
    BOOST_TEST(old.connections() == 1);
    BOOST_TEST(next.connections() == 1);
    client->connection.move_to(redis::parse_address(old.address())); // and it moves as before
    client->ask("third");
    run_until([&] { return client->answers == 3; });
    BOOST_TEST(old.connections() == 2);
    client->connection.close(true);
    client->suspend();
}

BOOST_AUTO_TEST_CASE(a_suspended_connection_does_not_await_the_replies_that_the_server_owes) {
    auto heard = 0;
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet();
                                       for (;; ++heard)
                                           (void)co_await c.next();
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return heard == 1; });
    client->suspend();
    BOOST_TEST(client->calls.unknown.size() == 1U);
    BOOST_TEST(client->lost_ready == 1);
    // Not even one miss is allowed, and this was none.
    BOOST_TEST(client->connection.breaker_openings() == 0U);
    client->connection.move_to(redis::parse_address(next.address()));
    client->ask("second");
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(client->calls.replies.at(0) == "second");
    BOOST_TEST(client->calls.unknown.size() == 1U);
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_connection_is_suspended_while_it_writes) {
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet(); // and reads nothing more
                                       co_await test::until([] { return false; });
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    run_until([&] { return client->ready == 1; });
    client->ask(std::string(16'000'000, 'x'));
    BOOST_TEST(client->calls.waiting.empty());
    client->suspend();
    client->ask("second");
    client->connection.move_to(redis::parse_address(next.address()));
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(client->calls.replies.at(0) == "second");
    BOOST_TEST(client->calls.unknown.size() == 1U);
    client->connection.close(true);
}

BOOST_AUTO_TEST_CASE(a_connection_is_suspended_during_the_handshake_and_before) {
    for (const auto is_connected : {false, true}) {
        auto has_hello = false;
        auto old =
            test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                    (void)co_await c.next();
                                    has_hello = true;
                                    co_await c.stay_silent();
                                }};
        auto next = test::scripted_peer{context, greet_and_echo};
        auto client = echo_client::make(context, old.address());
        client->connection.open();
        if (is_connected)
            run_until([&] { return has_hello; });
        client->suspend();
        client->ask("first");
        client->connection.move_to(redis::parse_address(next.address()));
        run_until([&] { return client->answers == 1; });
        BOOST_TEST(client->ready == 1);
        BOOST_TEST(client->lost_ready == 0);
        BOOST_TEST(client->connection.breaker_openings() == 0U);
        client->connection.close(true);
    }
}

BOOST_AUTO_TEST_CASE(a_suspended_connection_forgets_where_it_was_to_move) {
    auto heard = 0;
    auto old = test::scripted_peer{context, [&](test::peer_connection& c) -> asio::awaitable<void> {
                                       co_await c.greet();
                                       for (;; ++heard)
                                           (void)co_await c.next();
                                   }};
    auto next = test::scripted_peer{context, greet_and_echo};
    auto last = test::scripted_peer{context, greet_and_echo};
    auto client = echo_client::make(context, old.address());
    client->connection.open();
    client->ask("first");
    run_until([&] { return heard == 1; });
    client->connection.move_to(redis::parse_address(next.address())); // it awaits the reply
    BOOST_TEST(client->connection.is_ready());
    client->suspend();
    BOOST_TEST(!client->connection.is_ready());
    client->connection.move_to(redis::parse_address(last.address()));
    client->ask("second");
    run_until([&] { return client->answers == 1; });
    BOOST_TEST(next.connections() == 0);
    BOOST_TEST(last.connections() == 1);
    client->connection.close(true);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Servers with behaviour that no real one shows on request: replies in single bytes, replies of
// other requests, garbage, silence, old versions.

#include <redis/protocol/resp.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(strange_servers, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::peer_connection;

const auto rules = policy{"p", gcra(100, 1h)};

/// A limiter and the server that a test has thought out.
struct play {
    play(asio::io_context& context, test::scripted_peer::script each,
         const std::function<void(config&)>& adjust = {})
        : context(context), peer(context, std::move(each)),
          limiter(context.get_executor(), settings(adjust)) {}

    [[nodiscard]] config settings(const std::function<void(config&)>& adjust) const {
        auto c = config{};
        c.server = peer.address();
        c.timeout = 2s;
        c.advanced.ping_interval = 0ms; // only what the test asks for is sent
        c.advanced.connect_timeout = 10s;
        c.advanced.reconnect_delay_max = 20ms;
        c.on_failure = failure_mode::error;
        if (adjust)
            adjust(c);
        return c;
    }

    auto allow(std::string_view key) {
        return limiter.allow(key, rules, asio::as_tuple(asio::deferred));
    }

    void run(std::function<asio::awaitable<void>()> body) { test::run(context, std::move(body)); }

    asio::io_context& context;
    test::scripted_peer peer;
    colimit::limiter limiter;
};

} // namespace

BOOST_AUTO_TEST_CASE(replies_that_trickle_in_single_bytes_are_read) {
    auto script = test::script_double{rules};
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      (void)co_await c.next();
                      co_await c.trickle(test::hello_reply);
                      (void)co_await c.next();
                      co_await c.trickle(test::unknown_command);
                      (void)co_await c.next();
                      co_await c.trickle(test::load_reply);
                      (void)co_await c.next();
                      co_await c.trickle(test::load_reply);
                      (void)co_await c.next();
                      co_await c.trickle(test::permissions_reply);
                      for (;;) {
                          const auto words = co_await c.next();
                          const auto answer = script.answer(words);
                          co_await c.trickle(answer);
                      }
                  }};
    p.run([&]() -> asio::awaitable<void> {
        for (auto left = 99; left > 95; --left) {
            const auto [ec, d] = co_await p.allow("k");
            BOOST_TEST(!ec);
            BOOST_TEST(d.remaining == left);
        }
    });
    BOOST_TEST(p.peer.connections() == 1);
}

/// The bytes that complete the handshake are read together with those that end the connection.
BOOST_AUTO_TEST_CASE(a_connection_that_is_lost_as_soon_as_it_is_ready_has_a_cause) {
    auto lost = std::vector<event>{};
    auto p = play{context,
                  [&](peer_connection& c) -> asio::awaitable<void> {
                      co_await c.greet("-ERR surplus\r\n");
                      co_await c.stay_silent(); // it is the limiter that closes
                  },
                  [&](config& c) {
                      c.on_event = [&](const event& e) {
                          if (e.kind == event_kind::disconnected)
                              lost.push_back(e);
                      };
                  }};
    p.run(
        [&]() -> asio::awaitable<void> { co_await test::until([&] { return lost.size() == 2; }); });
    for (const auto& e : lost) {
        BOOST_TEST_REQUIRE(e.cause.has_value());
        BOOST_TEST(e.cause->text == "a reply that belongs to another request");
    }
}

BOOST_AUTO_TEST_CASE(a_reply_of_another_request_answers_nobody_and_ends_the_connection) {
    auto script = test::script_double{rules};
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      co_await c.greet();
                      if (c.number > 1)
                          co_await c.serve(script);
                      const auto words = co_await c.next();
                      auto other = script.answer(test::script_call{words});
                      other.nonce = "1" + other.nonce;
                      const auto bytes = other.bytes();
                      co_await c.send(bytes);
                      co_await c.stay_silent(); // it is the limiter that closes
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST((ec == errc::outcome_unknown));
        const auto [fine, d2] = co_await p.allow("k");
        BOOST_TEST(!fine);
        BOOST_TEST(d2.remaining == 98); // the first one was made, once
    });
    BOOST_TEST(p.peer.connections() == 2);
}

BOOST_AUTO_TEST_CASE(garbage_ends_the_connection_and_the_calls_on_it) {
    for (const std::string garbage :
         {"HTTP/1.1 400 Bad Request\r\n\r\n", "*-5\r\n", "$70000\r\n", "\r\n", "+OK\r\n", ":1\r\n",
          "*1\r\n$-1\r\n", "*99999999\r\n"}) {
        auto script = test::script_double{rules};
        auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                          co_await c.greet();
                          if (c.number > 1)
                              co_await c.serve(script);
                          (void)co_await c.next();
                          co_await c.send(garbage);
                          co_await c.stay_silent();
                      }};
        p.run([&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await p.allow("k");
            BOOST_TEST((ec == errc::outcome_unknown));
            const auto [fine, d2] = co_await p.allow("k");
            BOOST_TEST(!fine);
            BOOST_TEST(d2.remaining == 99);
        });
        BOOST_TEST(p.peer.connections() == 2);
    }
}

BOOST_AUTO_TEST_CASE(garbage_while_greeting_is_met_with_another_connection) {
    auto script = test::script_double{rules};
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      if (c.number <= 2) {
                          co_await c.send("SSH-2.0-OpenSSH_9.2\r\n");
                          co_await c.stay_silent();
                      }
                      co_await c.greet();
                      co_await c.serve(script);
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k"); // it waited all the while
        BOOST_TEST(!ec);
    });
    BOOST_TEST(p.peer.connections() == 3);
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_data_is_greeted_until_it_has_on_one_connection) {
    auto script = test::script_double{rules};
    auto greetings = 0;
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      const auto loading =
                          std::string{"-LOADING Redis is loading the dataset in memory\r\n"};
                      for (; greetings < 4; ++greetings) {
                          (void)co_await c.next();
                          co_await c.send(test::hello_reply);
                          (void)co_await c.next(); // the question for the server module
                          co_await c.send(loading);
                      }
                      co_await c.greet();
                      co_await c.serve(script);
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST(!ec);
        BOOST_TEST(d.remaining == 99);
        co_await p.limiter.ready();
    });
    BOOST_TEST(greetings == 4);
    BOOST_TEST(p.peer.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_echoes_what_it_is_sent_is_not_redis) {
    for (const auto protocol : {3, 2}) {
        auto p = play{context,
                      [](peer_connection& c) -> asio::awaitable<void> {
                          for (;;) {
                              const auto words = co_await c.next();
                              auto bytes = std::string{};
                              redis::resp::append_array(bytes, words.size());
                              for (const auto& word : words)
                                  redis::resp::append_bulk(bytes, word);
                              co_await c.send(bytes);
                          }
                      },
                      [protocol](config& c) { c.advanced.resp_version = protocol; }};
        p.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await p.limiter.ready(asio::as_tuple(asio::use_awaitable));
            BOOST_TEST((std::get<0>(ec) == errc::bad_reply));
        });
        BOOST_TEST(p.limiter.health().state == health_state::refused);
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_forgets_who_this_is_refuses) {
    auto p = play{context, [](peer_connection& c) -> asio::awaitable<void> {
                      co_await c.greet();
                      (void)co_await c.next();
                      co_await c.send("-NOAUTH Authentication required.\r\n");
                      co_await c.stay_silent();
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST((ec == errc::auth_failed), ec.message());
    });
    BOOST_TEST((p.limiter.health().state == health_state::refused));
}

BOOST_AUTO_TEST_CASE(an_old_server_without_hello_is_spoken_to_in_resp2) {
    auto script = test::script_double{rules};
    auto commands = std::vector<std::string>{};
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      for (auto known = false; !known;) {
                          const auto words = co_await c.next();
                          commands.push_back(words.at(0));
                          known = words.at(0) == "EVALSHA";
                          const auto answer =
                              known ? test::permissions_reply
                              : words.at(0) == "HELLO"
                                  ? std::string_view{"-ERR unknown command `HELLO`\r\n"}
                              : words.at(0) == "PING"          ? std::string_view{"+PONG\r\n"}
                              : words.at(0) == "COLIMIT.CHECK" ? test::unknown_command
                                                               : test::load_reply;
                          co_await c.send(answer);
                      }
                      co_await c.serve(script);
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST(!ec);
    });
    BOOST_TEST(
        (commands == std::vector<std::string>{"HELLO", "COLIMIT.CHECK", "PING", "INFO",
                                              "COLIMIT.CHECK", "SCRIPT", "SCRIPT", "EVALSHA"}));
    BOOST_TEST(p.peer.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_that_closes_each_connection_is_tried_again_and_again) {
    auto script = test::script_double{rules};
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      if (c.number < 6) {
                          if (c.number % 2 == 0)
                              (void)co_await c.next();
                          co_return c.close();
                      }
                      co_await c.greet();
                      co_await c.serve(script);
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST(!ec);
    });
    BOOST_TEST(p.peer.connections() == 6);
    BOOST_TEST(script.calls() == 1);
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_lost_under_a_call_is_not_asked_a_second_time) {
    auto script = test::script_double{rules};
    auto seen = 0;
    auto p = play{context, [&](peer_connection& c) -> asio::awaitable<void> {
                      co_await c.greet();
                      if (c.number > 1)
                          co_await c.serve(script);
                      (void)co_await c.next();
                      ++seen;
                      c.close();
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST((ec == errc::outcome_unknown));
        BOOST_TEST((ec == condition::maybe_charged));
        const auto [fine, d2] = co_await p.allow("k");
        BOOST_TEST(d2.remaining == 99);
    });
    BOOST_TEST(seen == 1);
    BOOST_TEST(script.calls() == 1);
}

BOOST_AUTO_TEST_CASE(a_half_open_connection_is_given_up_when_replies_stay_out) {
    auto script = test::script_double{rules};
    auto p = play{context,
                  [&](peer_connection& c) -> asio::awaitable<void> {
                      co_await c.greet();
                      if (c.number > 1)
                          co_await c.serve(script);
                      co_await c.stay_silent();
                  },
                  [](config& c) { c.timeout = 20ms; }};
    p.run([&]() -> asio::awaitable<void> {
        const auto begin = now();
        const auto [lost, none] = co_await p.allow("k");
        BOOST_TEST((lost == errc::outcome_unknown), lost.message());
        BOOST_TEST((now() - begin == 20ms));
        for (auto worked = false; !worked && now() < 10s;) {
            const auto [ec, d] = co_await p.allow("k");
            worked = !ec;
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(p.peer.connections() == 2);
        BOOST_TEST((now() >= 2s)); // of silence, while replies are owed
        BOOST_TEST((now() <= 2'020ms));
    });
}

BOOST_AUTO_TEST_CASE(a_greeting_that_is_not_answered_ends_after_the_connect_timeout) {
    auto script = test::script_double{rules};
    auto p = play{context,
                  [&](peer_connection& c) -> asio::awaitable<void> {
                      if (c.number < 3)
                          co_await c.stay_silent();
                      co_await c.greet();
                      co_await c.serve(script);
                  },
                  [](config& c) {
                      c.advanced.connect_timeout = 30ms;
                      c.timeout = 20s;
                  }};
    p.run([&]() -> asio::awaitable<void> {
        const auto [ec, d] = co_await p.allow("k");
        BOOST_TEST(!ec);
        BOOST_TEST((now() >= 60ms)); // two attempts, and pauses of at most 20 ms
        BOOST_TEST((now() <= 100ms));
    });
}

BOOST_AUTO_TEST_SUITE_END()

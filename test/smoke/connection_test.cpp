// SPDX-License-Identifier: BSL-1.0
//
// A limiter and a real server: connecting, the handshake, sharing one connection and one script
// call.

#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/detached.hpp>

#include <chrono>
#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(connections)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::count_of;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};
const auto others = policy{"q", gcra(1'000'000, 24h * 36'500)};

} // namespace

BOOST_AUTO_TEST_CASE(a_limiter_connects_by_itself) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == 999'999);
        BOOST_TEST((d.source == decision_source::store));
    });
    auto look = server.connect();
    BOOST_TEST(look.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(by_tcp_as_well_as_by_unix_socket_and_by_name) {
    auto server = test::redis_server{{.tcp = true}};
    const auto port = std::to_string(server.port());
    auto expected = std::int64_t{999'999};
    for (const auto& address :
         {server.unix_address(), "redis://127.0.0.1:" + port, "redis://localhost:" + port}) {
        auto l = live{address};
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.remaining == expected--);
        });
    }
}

BOOST_AUTO_TEST_CASE(ready_completes_when_the_server_has_answered) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        co_await l.limiter.ready();
    });
    auto look = server.connect();
    BOOST_TEST(test::calls_of(look, "evalsha") == 1); // that of the permissions
}

BOOST_AUTO_TEST_CASE(many_coroutines_share_one_connection) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    auto running = 200;
    for (int i = 0; i < 200; ++i)
        asio::co_spawn(
            l.context,
            [&l, &running, i]() -> asio::awaitable<void> {
                for (int n = 0; n < 20; ++n)
                    (void)co_await l.limiter.allow("k" + std::to_string(i), rules);
                --running;
            },
            test::rethrow);
    test::run_until(l.context, [&] { return running == 0; });
    auto look = server.connect();
    const auto clients = look.must({"CLIENT", "LIST"}).text;
    BOOST_TEST(count_of(clients, "\n") == 2); // this one and the limiter's
    BOOST_TEST(look.dbsize() == 200);
}

BOOST_AUTO_TEST_CASE(what_is_asked_in_one_turn_leaves_in_one_script_call_for_each_policy) {
    auto server = test::redis_server{};
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
    auto look = server.connect();
    look.must({"CONFIG", "RESETSTAT"});
    auto running = 90;
    asio::post(l.context, [&] {
        for (int i = 0; i < 90; ++i) {
            const auto done = [&](error_code ec, const decision& d) {
                BOOST_TEST(!ec);
                BOOST_TEST(d.allowed());
                --running;
            };
            l.limiter.allow("k" + std::to_string(i % 60), i % 3 == 0 ? others : rules, done);
        }
    });
    test::run_until(l.context, [&] { return running == 0; });
    BOOST_TEST(test::calls_of(look, "evalsha") == 2);
}

BOOST_AUTO_TEST_CASE(a_password_and_a_user_are_accepted) {
    auto server = test::redis_server{{.arguments = {"--requirepass", "s3cret"}}};
    auto admin = redis::parse_address(server.unix_address());
    admin.password = "s3cret";
    auto look = test::raw_client{admin};
    look.must({"ACL", "SETUSER", "ann", "on", ">p@ss", "~*", "+@all"});
    const auto path = server.socket();
    for (const auto& address : {"unix://:s3cret@" + path, "unix://ann:p%40ss@" + path})
        for (const auto resp : {2, 3}) {
            auto l = live{address, [&](config& c) { c.advanced.resp_version = resp; }};
            l.run([&]() -> asio::awaitable<void> {
                co_await l.limiter.ready();
                const auto d = co_await l.limiter.allow("k", rules);
                BOOST_TEST(d.allowed());
            });
        }
}

BOOST_AUTO_TEST_CASE(wrong_credentials_are_auth_failed_for_calls_and_for_ready) {
    auto server = test::redis_server{{.arguments = {"--requirepass", "s3cret"}}};
    const auto path = server.socket();
    for (const auto& address :
         {"unix:" + path, "unix://:wrong@" + path, "unix://nobody:s3cret@" + path})
        for (const auto resp : {2, 3}) {
            auto l = live{address, [&](config& c) {
                              c.advanced.resp_version = resp;
                              c.timeout = 200ms;
                          }};
            l.run([&]() -> asio::awaitable<void> {
                const auto ready = co_await l.ready();
                BOOST_TEST((ready == errc::auth_failed));
                const auto [ec, d] = co_await l.allow("k", rules);
                BOOST_TEST((ec == errc::auth_failed));
            });
        }
}

BOOST_AUTO_TEST_CASE(credentials_that_become_right_are_accepted_later) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{"unix://ann:pw@" + server.socket(),
                  [](config& c) { c.advanced.reconnect_delay_max = 50ms; }};
    l.run([&]() -> asio::awaitable<void> {
        const auto before = co_await l.ready();
        BOOST_TEST((before == errc::auth_failed));
        look.must({"ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all"});
        auto ec = before;
        while (ec == errc::auth_failed) {
            co_await test::pause_for(5ms);
            ec = co_await l.ready();
        }
        BOOST_TEST(!ec);
    });
}

BOOST_AUTO_TEST_CASE(the_database_of_the_address_is_selected) {
    auto server = test::redis_server{{.tcp = true}};
    auto by_path = live{server.unix_address() + "?db=3"};
    auto by_port = live{"redis://127.0.0.1:" + std::to_string(server.port()) + "/3",
                        [](config& c) { c.advanced.resp_version = 2; }};
    by_path.run(
        [&]() -> asio::awaitable<void> { (void)co_await by_path.limiter.allow("k", rules); });
    by_port.run([&]() -> asio::awaitable<void> {
        const auto d = co_await by_port.limiter.allow("k", rules);
        BOOST_TEST(d.remaining == 999'998);
    });
    auto look = server.connect();
    BOOST_TEST(look.dbsize() == 0);
    look.must({"SELECT", "3"});
    BOOST_TEST(look.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_not_there_is_an_error_of_the_server) {
    auto server = test::redis_server{};
    auto l = live{server.unix_address() + "?db=999", test::give_up_early};
    l.run(
        [&]() -> asio::awaitable<void> { co_await l.until_code("k", rules, errc::server_error); });
}

BOOST_AUTO_TEST_CASE(resp2_gives_the_same_answers) {
    auto server = test::redis_server{};
    auto two = live{server.address(), [](config& c) { c.advanced.resp_version = 2; }};
    two.run([&]() -> asio::awaitable<void> {
        auto d = co_await two.limiter.allow("k", gcra(2, 1h));
        BOOST_TEST(d.remaining == 1);
        d = co_await two.limiter.allow("k", gcra(2, 1h), {.cost = 2});
        BOOST_TEST(!d.allowed());
        BOOST_TEST(d.retry_after > 25min);
    });
    auto look = server.connect();
    BOOST_TEST(look.must({"CLIENT", "LIST"}).text.find("resp=2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_batch_that_waited_for_a_reply_leaves_before_the_handlers_of_that_reply) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.advanced.batches_in_flight = 1; }};
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
    const auto batches = [&] { return l.limiter.statistics().batches; };
    auto sent_at_first_handler = std::uint64_t{0};
    auto left = 2;
    l.limiter.allow("first", rules, [&](error_code ec, const decision&) {
        BOOST_TEST(!ec, ec.message());
        sent_at_first_handler = batches();
        --left;
    });
    test::run_until(l.context, [&] { return batches() == 1; });
    BOOST_TEST(left == 2);
    // It has no room until the reply comes, which no handler has read yet.
    l.limiter.allow("second", rules, [&](error_code ec, const decision&) {
        BOOST_TEST(!ec, ec.message());
        --left;
    });
    test::run_until(l.context, [&] { return left == 0; });
    BOOST_TEST(sent_at_first_handler == 2U);
    BOOST_TEST(batches() == 2U);
}

BOOST_AUTO_TEST_CASE(where_nothing_listens_calls_are_unavailable_well_before_their_deadline) {
    auto l = live{"unix:/nonexistent/colimit.sock", [](config& c) {
                      c.timeout = 20s;
                      c.advanced.reconnect_delay_min = 60s;
                      c.advanced.reconnect_delay_max = 60s;
                  }};
    const auto clock = test::loop_clock{l.context};
    l.run([&]() -> asio::awaitable<void> {
        const auto first = co_await l.allow("k", rules);
        BOOST_TEST((std::get<0>(first) == errc::unavailable));
        const auto second = co_await l.allow("k", rules);
        BOOST_TEST((std::get<0>(second) == errc::unavailable));
    });
    BOOST_TEST((clock.now() < 10s));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// last_error and health for servers that cannot be reached or reply with errors: the phase, and a
// text that shows the cause. No text contains a password.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/tcp_responder.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(diagnostics)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::check_last;
using test::has;
using test::last_of;
using test::live;
using test::until_reported;

const auto rules = policy{"p", gcra(100, 1h)};

/// Returns the problem that is reported for a server that is not Redis and replies with this.
[[nodiscard]] std::string report_of(const std::string& sentence, const std::string& credentials) {
    auto context = asio::io_context{1};
    auto stranger = test::tcp_responder{context, sentence};
    auto settings = config{};
    settings.server = "redis://" + credentials + "@" + stranger.address("redis").substr(8);
    auto l = limiter{context.get_executor(), settings};
    test::run(context,
              [&]() -> asio::awaitable<void> { co_await until_reported(l, "it replied:"); });
    return last_of(l).text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_healthy_limiter_reports_no_problem) {
    auto server = test::redis_server{};
    for (const auto& address : {server.address(), std::string{"memory:"}}) {
        auto l = live{address};
        const auto before = std::chrono::system_clock::now();
        l.run([&]() -> asio::awaitable<void> {
            co_await l.limiter.ready();
            (void)co_await l.limiter.allow("k", rules);
        });
        BOOST_TEST(!l.limiter.last_error());
        BOOST_TEST(l.limiter.health().state == health_state::ready);
        BOOST_TEST((l.limiter.health().since <= std::chrono::system_clock::now()));
        BOOST_TEST((l.limiter.health().since >= before - 1min));
        l.limiter.close();
        BOOST_TEST(l.limiter.health().state == health_state::closed);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_does_not_resolve_is_named) {
    auto l = live{"redis://no-such-host.invalid:6379"};
    l.run([&]() -> asio::awaitable<void> {
        co_await until_reported(l.limiter, "no-such-host.invalid: Host not found");
    });
    check_last(l.limiter, errc::unavailable, phase::resolve, "no-such-host.invalid");
    BOOST_TEST(l.limiter.health().state != health_state::ready);
}

BOOST_AUTO_TEST_CASE(a_password_that_stands_where_the_port_would_is_not_shown) {
    auto l = live{"redis://no-such-user.invalid:31415"}; // @host was forgotten
    l.run([&]() -> asio::awaitable<void> { co_await until_reported(l.limiter, "not found"); });
    BOOST_TEST(!has(last_of(l.limiter).text, "31415"), last_of(l.limiter));
}

BOOST_AUTO_TEST_CASE(a_wrong_password_is_reported_without_the_password) {
    auto server = test::redis_server{{.arguments = {"--requirepass", "right-one"}}};
    for (const auto resp : {2, 3}) {
        auto l = live{"unix://wrong-secret@" + server.socket(),
                      [resp](config& c) { c.advanced.resp_version = resp; }};
        l.run([&]() -> asio::awaitable<void> {
            const auto ec = co_await l.ready();
            BOOST_TEST((ec == errc::auth_failed));
        });
        check_last(l.limiter, errc::auth_failed, phase::handshake, "WRONGPASS");
        BOOST_TEST(!has(last_of(l.limiter).text, "wrong-secret"));
        BOOST_TEST(l.limiter.health().state == health_state::refused);
    }
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    check_last(l.limiter, errc::auth_failed, phase::handshake, "NOAUTH");
}

BOOST_AUTO_TEST_CASE(an_old_server_that_repeats_the_arguments_reveals_no_password) {
    auto context = asio::io_context{1};
    auto peer =
        test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                (void)co_await c.next();
                                co_await c.send("-NOPERM `HELLO` hidden-secret, with args "
                                                "beginning with: `3` `AUTH` `hidden-se\r\n");
                                (void)co_await c.next();
                                co_await c.send(test::unknown_command);
                                (void)co_await c.next();
                            }};
    auto settings = config{};
    settings.server = "unix://hidden-secret@" + peer.address().substr(5);
    auto l = limiter{context.get_executor(), settings};
    test::run(context, [&]() -> asio::awaitable<void> { co_await until_reported(l, "NOPERM"); });
    BOOST_TEST(last_of(l).text == "NOPERM `HELLO` ***,");
}

BOOST_AUTO_TEST_CASE(a_stranger_that_repeats_what_it_was_sent_reveals_no_password) {
    const auto user = std::string(88, 'u');
    const auto long_one = report_of("500 " + user + " hunter2-secret: command not understood\r\n",
                                    user + ":hunter2-secret");
    BOOST_TEST(has(long_one, user + " ***: command not understood"), long_one);
    BOOST_TEST(has(report_of("500 ab:\r\n", "ann:ab"), "(omitted: "));
    BOOST_TEST(has(report_of("500 /hunter2%2Dsecret\r\n", "hunter2-secret"), " 500 /***"));
    BOOST_TEST(has(report_of("500 hunter2-sec", "hunter2-secret"), " 500 ***"));
}

BOOST_AUTO_TEST_CASE(a_binary_greeting_is_quoted_beyond_its_first_zero) {
    const auto text = report_of(std::string{"\0\0\x12\4\0http2 settings", 19}, "hunter2");
    BOOST_TEST(has(text, "it replied: \\x00\\x00\\x12\\x04\\x00http2 settings"), text);
}

BOOST_AUTO_TEST_CASE(error_replies_to_calls_are_reported_in_the_words_of_the_server) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        for (auto i = 0; i < 3; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::server_error));
        }
        BOOST_TEST(last_of(l.limiter).count == 3U);
        look.must({"CONFIG", "SET", "maxmemory", "0"});
        co_await l.limiter.allow("k", rules);
    });
    check_last(l.limiter, errc::server_error, phase::script, "OOM command not allowed");
    BOOST_TEST(l.limiter.health().state == health_state::ready);
}

BOOST_AUTO_TEST_CASE(error_replies_in_transaction_mode_are_reported) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        look.must({"CONFIG", "SET", "maxmemory", "1"});
        const auto [ec, d] = co_await l.allow("k", policy{"log", sliding_log(5, 1h)});
        BOOST_TEST((ec == errc::server_error));
    });
    check_last(l.limiter, errc::server_error, phase::reply, "OOM command not allowed");
}

BOOST_AUTO_TEST_CASE(a_foreign_value_is_reported) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address()};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.allow("k", rules);
        const auto name = look.keys().at(0);
        look.must({"DEL", name});
        look.must({"RPUSH", name, "x"});
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::key_conflict));
    });
    check_last(l.limiter, errc::key_conflict, phase::script, "another type");
}

BOOST_AUTO_TEST_SUITE_END()

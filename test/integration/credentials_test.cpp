// SPDX-License-Identifier: BSL-1.0
//
// Credentials from a function: passwords that rotate, tokens that expire, and a source that fails.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

BOOST_AUTO_TEST_SUITE(credentials_of_connections)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;

const auto rules = policy{"p", gcra(100, 1h)};

/// A server whose user has a password that changes, and a limiter that is told of it.
struct fixture {
    fixture() { change("password-one"); }

    void change(const std::string& to) {
        look.must({"ACL", "SETUSER", "ann", "on", "resetpass", ">" + to, "~*", "+@all"});
        password = to;
    }
    [[nodiscard]] credentials current() {
        ++asked;
        if (fails)
            throw std::runtime_error{"the vault is sealed\n\x1b[2J"};
        return {.user = "ann", .password = password};
    }

    test::redis_server server;
    test::raw_client look = server.connect();
    std::string password;
    int asked = 0;
    bool fails = false;
    live l{server.unix_address(),
           [this](config& c) { c.credentials = [this] { return current(); }; }};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_new_connection_has_the_new_password) {
    auto f = fixture{};
    f.l.run([&]() -> asio::awaitable<void> {
        co_await f.l.until_it_works("k", rules);
        f.change("password-two");
        f.look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        co_await test::until([&] { return f.l.limiter.statistics().reconnects == 1; });
        co_await f.l.until_it_works("k", rules);
    });
    BOOST_TEST(f.asked >= 2);
    BOOST_TEST(test::has(f.look.must({"CLIENT", "LIST"}).text, "user=ann"));
}

BOOST_AUTO_TEST_CASE(a_server_that_repeats_the_arguments_reveals_no_password) {
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
    settings.server = peer.address();
    settings.credentials = [] { return credentials{.user = "", .password = "hidden-secret"}; };
    auto l = limiter{context.get_executor(), settings};
    test::run(context,
              [&]() -> asio::awaitable<void> { co_await test::until_reported(l, "NOPERM"); });
    BOOST_TEST(test::last_of(l).text == "NOPERM `HELLO` ***,");
}

BOOST_AUTO_TEST_CASE(a_source_that_throws_is_asked_again) {
    auto f = fixture{};
    f.l.run([&]() -> asio::awaitable<void> {
        co_await f.l.until_it_works("k", rules);
        f.fails = true;
        f.look.must({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        co_await f.l.until_code("k", rules, errc::auth_failed);
        test::check_last(f.l.limiter, errc::auth_failed, phase::handshake,
                         "config::credentials failed: the vault is sealed\\x0a\\x1b[2J");
        BOOST_TEST(f.l.limiter.health().state == health_state::refused);
        f.fails = false;
        co_await f.l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_SUITE_END()

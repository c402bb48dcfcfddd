// SPDX-License-Identifier: BSL-1.0
//
// Credentials from a function: one that fails, and a server that repeats them.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/problems.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

BOOST_FIXTURE_TEST_SUITE(credentials_of_connections, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto rules = policy{"p", gcra(100, 1h)};

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_repeats_the_arguments_reveals_no_password) {
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
    run([&]() -> asio::awaitable<void> { co_await test::until_reported(l, "NOPERM"); });
    BOOST_TEST(test::last_of(l).text == "NOPERM `HELLO` ***,");
}

BOOST_AUTO_TEST_CASE(a_source_that_throws_is_asked_again) {
    auto server = scenario::fake_redis{net};
    server.password = "password-one";
    auto fails = false;
    auto l = test::live{context, server.url(), [&](config& c) {
                            c.credentials = [&] {
                                if (fails)
                                    throw std::runtime_error{"the vault is sealed\n\x1b[2J"};
                                return credentials{.user = "ann", .password = server.password};
                            };
                        }};
    run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        fails = true;
        server.drop_connections();
        co_await l.until_code("k", rules, errc::auth_failed);
        test::check_last(l.limiter, errc::auth_failed, phase::handshake,
                         "config::credentials failed: the vault is sealed\\x0a\\x1b[2J");
        BOOST_TEST(l.limiter.health().state == health_state::refused);
        fails = false;
        co_await l.until_it_works("k", rules);
    });
}

BOOST_AUTO_TEST_SUITE_END()

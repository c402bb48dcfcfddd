// SPDX-License-Identifier: BSL-1.0
//
// Credentials from a function: a password that rotates.

#include <support/problems.hpp>

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
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
        return {.user = "ann", .password = password};
    }

    test::redis_server server;
    test::raw_client look = server.connect();
    std::string password;
    int asked = 0;
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

BOOST_AUTO_TEST_SUITE_END()

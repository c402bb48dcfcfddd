// SPDX-License-Identifier: BSL-1.0
//
// What a session demands of its server: to be a master, a Sentinel, or no Sentinel; and a server
// that moves to another address.

#include <boost/test/unit_test.hpp>

#include <support/session_bench.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_roles)

namespace {

using namespace colimit;
using redis::action;
using redis::server_role;
using redis::session_state;
using test::command;
using test::hello_reply;
using test::session_bench;

struct reports final : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        code = what.code;
        text = what.text;
        ++count;
    }
    errc code{};
    std::string text;
    int count = 0;
};

[[nodiscard]] redis::session_settings settings(server_role role, int protocol = 3) {
    return {.role = role, .user = "", .password = "", .protocol = protocol};
}

[[nodiscard]] std::string mode(std::string_view name) {
    return "%1\r\n$4\r\nmode\r\n$" + std::to_string(name.size()) + "\r\n" + std::string{name} +
           "\r\n";
}

constexpr std::string_view master = "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n";
constexpr std::string_view replica =
    "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:6379\r\n$9\r\nconnected\r\n:1\r\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_server_that_sentinel_has_named_is_used_if_it_says_that_it_is_a_master) {
    auto c = session_bench{settings(server_role::master)};
    BOOST_TEST((c.session.start(c.now) == action::connect));
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST((c.handshake() == std::vector<command>{{"HELLO", "3"}, {"ROLE"}}));
    BOOST_TEST((c.reply(hello_reply) == action::nothing));
    c.introduce(master);
    BOOST_TEST((c.load() == action::serve));
}

BOOST_AUTO_TEST_CASE(a_replica_is_left_after_the_shortest_pause_and_never_sees_a_script) {
    auto c = session_bench{settings(server_role::master)};
    auto heard = reports{};
    c.session.report_to(heard);
    c.open();
    BOOST_TEST((c.reply(hello_reply) == action::nothing));
    BOOST_TEST((c.reply(replica) == action::disconnect));
    BOOST_TEST((c.session.error() == errc::unavailable));
    BOOST_TEST(c.session.wake_at().value() <= c.now + 10'000);
    BOOST_TEST(heard.text == "the server is not a master, although Sentinel has named it");
    BOOST_TEST(heard.count == 1);
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_run_role_is_a_refusal) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    (void)c.reply(hello_reply);
    BOOST_TEST((c.reply("-NOPERM this user has no permissions to run the 'role' command\r\n") ==
                action::disconnect));
    BOOST_TEST((c.session.error() == errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(a_sentinel_gets_hello_and_nothing_else) {
    auto c = session_bench{settings(server_role::sentinel)};
    BOOST_TEST((c.session.start(c.now) == action::connect));
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST((c.handshake() == std::vector<command>{{"HELLO", "3"}}));
    BOOST_TEST((c.reply(mode("sentinel")) == action::serve));
    BOOST_TEST(c.session.script_loads() == 0U);
}

BOOST_AUTO_TEST_CASE(a_server_of_the_other_kind_is_refused_with_the_address_that_would_be_right) {
    for (const auto role : {server_role::any, server_role::master}) {
        for (const auto protocol : {2, 3}) {
            auto c = session_bench{settings(role, protocol)};
            auto heard = reports{};
            c.session.report_to(heard);
            c.open();
            const auto info = std::string{"$46\r\n# Server\r\nredis_version:7\r\n"
                                          "redis_mode:sentinel\r\n\r\n"};
            const auto unknown = "-ERR unknown command 'X'\r\n";
            if (protocol == 3)
                (void)c.reply(mode("sentinel"));
            else
                BOOST_TEST((c.reply(role == server_role::master ? master : "+PONG\r\n") ==
                            action::nothing));
            if (protocol == 2)
                BOOST_TEST((c.reply(info) == action::disconnect));
            else if (role == server_role::master)
                BOOST_TEST((c.reply(unknown) == action::disconnect));
            BOOST_TEST((c.session.error() == errc::bad_reply));
            BOOST_TEST(heard.text ==
                       "a Sentinel, whose address is redis+sentinel://host:port/master");
            BOOST_TEST(heard.count == 1);
        }
    }
    for (const auto* const other : {"standalone", "cluster"}) {
        auto c = session_bench{settings(server_role::sentinel)};
        auto heard = reports{};
        c.session.report_to(heard);
        c.open();
        BOOST_TEST((c.reply(mode(other)) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::bad_reply));
        BOOST_TEST(heard.text == "not a Sentinel but a server, whose address is redis://host:port");
    }
}

BOOST_AUTO_TEST_CASE(a_server_without_a_mode_may_be_of_any_kind) {
    auto c = session_bench{settings(server_role::sentinel)};
    c.open();
    BOOST_TEST((c.reply(hello_reply) == action::serve));
}

BOOST_AUTO_TEST_CASE(a_server_that_moves_is_connected_to_at_once) {
    auto c = session_bench{settings(server_role::master)};
    BOOST_TEST((c.session.moved(c.now) == action::nothing)); // it is not open yet
    BOOST_TEST((c.session.state() == session_state::idle));
    c.open();
    (void)c.reply(hello_reply);
    c.introduce(master);
    (void)c.load();
    BOOST_TEST((c.session.moved(c.now) == action::disconnect));
    BOOST_TEST(c.session.wake_at().value() == c.now);
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    BOOST_TEST((c.session.moved(c.now) == action::disconnect)); // while connecting
    (void)c.session.wake(c.now);
    for (auto i = 0; i < 10; ++i) { // the pauses grow
        (void)c.session.lost(c.now);
        c.now = c.session.wake_at().value();
        (void)c.session.wake(c.now);
    }
    (void)c.session.lost(c.now);
    BOOST_TEST((c.session.moved(c.now) == action::nothing)); // there is no connection
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    (void)c.session.lost(c.now);
    BOOST_TEST(c.session.wake_at().value() <= c.now + 10'000); // they begin again
    c.session.close();
    BOOST_TEST((c.session.moved(c.now) == action::nothing));
}

/// The connection is kept while the dataset is loaded.
BOOST_AUTO_TEST_CASE(a_loading_server_that_moves_is_disconnected) {
    auto c = session_bench{settings(server_role::master)};
    c.open();
    (void)c.reply(hello_reply);
    BOOST_TEST((c.reply(test::loading) == action::nothing));
    BOOST_TEST((c.session.moved(c.now) == action::disconnect));
    BOOST_TEST((c.session.wake(c.now) == action::connect));
}

BOOST_AUTO_TEST_CASE(calls_do_not_wait_for_an_address_that_is_refused) {
    auto c = session_bench{settings(server_role::master)};
    BOOST_TEST(c.session.earliest_ready_at() == 0);
    c.session.set_error(errc::invalid_config);
    BOOST_TEST(c.session.is_refused());
    BOOST_TEST(c.session.earliest_ready_at() > c.now);
    c.session.set_error(errc::unavailable);
    BOOST_TEST(c.session.earliest_ready_at() == 0);
    BOOST_TEST((c.session.start(c.now) == action::connect));
}

BOOST_AUTO_TEST_SUITE_END()

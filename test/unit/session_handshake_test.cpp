// SPDX-License-Identifier: BSL-1.0
//
// The handshake of a session: its commands, and what it does after each reply to them.

#include <support/session_bench.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_handshakes)

namespace {

using namespace colimit;
using redis::action;
using redis::session_state;
using test::hello_reply;
using test::loading;
using test::ok;
using test::session_bench;

constexpr std::string_view wrongpass = "-WRONGPASS invalid username-password pair\r\n";

} // namespace

BOOST_AUTO_TEST_CASE(it_connects_greets_and_serves) {
    auto c = session_bench{};
    BOOST_TEST((c.session.state() == session_state::idle));
    BOOST_TEST(!c.session.wake_at().has_value());
    BOOST_TEST((c.session.start(c.now) == action::connect));
    BOOST_TEST((c.session.state() == session_state::connecting));
    BOOST_TEST(c.session.wake_at().value() == c.now + 1'000'000);
    BOOST_TEST((c.session.start(c.now) == action::nothing));
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST((c.session.state() == session_state::handshake));
    BOOST_TEST((c.handshake() == std::vector<test::command>{{"HELLO", "3"}}));
    c.introduce(hello_reply);
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.state() == session_state::ready));
    BOOST_TEST(!c.session.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(credentials_and_database_are_part_of_the_handshake) {
    auto c = session_bench{{.user = "me", .password = "a b", .database = 7}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.handshake() ==
                std::vector<test::command>{{"HELLO", "3", "AUTH", "me", "a b"}, {"SELECT", "7"}}));
    BOOST_TEST((c.reply(hello_reply) == action::nothing));
    c.introduce(ok);
    BOOST_TEST((c.load() == action::serve));
}

BOOST_AUTO_TEST_CASE(a_password_alone_is_that_of_the_default_user) {
    auto c = session_bench{{.user = "", .password = "secret"}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.handshake().at(0) == test::command{"HELLO", "3", "AUTH", "default", "secret"}));
}

BOOST_AUTO_TEST_CASE(resp2_is_greeted_without_a_hello) {
    auto plain = session_bench{{.user = "", .password = "", .protocol = 2}};
    (void)plain.session.start(plain.now);
    (void)plain.session.connected();
    BOOST_TEST((plain.handshake() == std::vector<test::command>{{"PING"}, {"INFO", "server"}}));
    BOOST_TEST((plain.reply("+PONG\r\n") == action::nothing));
    plain.introduce("-NOPERM this user has no permissions to run the 'info' command\r\n");
    BOOST_TEST((plain.load() == action::serve));

    auto c = session_bench{{.user = "me", .password = "pw", .database = 1, .protocol = 2}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.handshake() == std::vector<test::command>{
                                     {"AUTH", "me", "pw"}, {"SELECT", "1"}, {"INFO", "server"}}));
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_hello_is_greeted_again_in_resp2) {
    for (const std::string_view answer :
         {"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n",
          "-NOPROTO unsupported protocol version\r\n",
          "-ERR Protocol version is not an integer or out of range\r\n"}) {
        auto c = session_bench{{.user = "", .password = "pw"}};
        c.open();
        BOOST_TEST((c.reply(answer) == action::send));
        BOOST_TEST((c.session.state() == session_state::handshake));
        BOOST_TEST((c.handshake() ==
                    std::vector<test::command>{{"AUTH", "default", "pw"}, {"INFO", "server"}}));
        BOOST_TEST((c.reply(ok) == action::nothing));
        c.introduce("$0\r\n\r\n");
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(the_second_handshake_of_an_old_server_has_time_of_its_own) {
    auto c = session_bench{};
    c.open();
    c.now += 900'000;
    BOOST_TEST((c.reply("-ERR unknown command 'HELLO'\r\n") == action::send));
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
}

BOOST_AUTO_TEST_CASE(the_next_connection_is_tried_in_resp3_again) {
    auto c = session_bench{};
    c.open();
    (void)c.reply("-ERR unknown command 'HELLO'\r\n");
    (void)c.handshake();
    BOOST_TEST((c.reply("+PONG\r\n") == action::nothing));
    c.introduce("$0\r\n\r\n");
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    (void)c.session.connected();
    BOOST_TEST((c.handshake().at(0) == test::command{"HELLO", "3"}));
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_data_is_greeted_again_on_the_same_connection) {
    for (const std::string_view answer :
         {loading, std::string_view{"-BUSY Redis is busy running a script.\r\n"},
          std::string_view{"-MASTERDOWN Link with MASTER is down\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce(hello_reply);
        for (auto i = 0; i < 3; ++i)
            BOOST_TEST((c.reply(answer) == action::nothing));
        BOOST_TEST((c.session.state() == session_state::waiting));
        BOOST_TEST((c.session.error() == errc::unavailable));
        const auto at = c.session.wake_at().value();
        BOOST_TEST(c.session.earliest_ready_at() == at);
        BOOST_TEST((c.session.wake(at - 1) == action::nothing));
        BOOST_TEST((c.session.wake(at) == action::send));
        (void)c.handshake();
        c.introduce(hello_reply);
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(refused_credentials_are_a_distinct_trouble_and_tried_again_slowly) {
    for (const std::string_view answer :
         {wrongpass, std::string_view{"-NOAUTH HELLO must be called with the client already "
                                      "authenticated\r\n"}}) {
        auto c = session_bench{{.user = "",
                                .password = "",
                                .reconnect_delay_min = 10,
                                .reconnect_delay_max = 1'000'000}};
        c.open();
        BOOST_TEST((c.reply(answer) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::auth_failed));
        BOOST_TEST(c.session.earliest_ready_at() >= c.now + 500'000);
        // It stays so until a connection says otherwise.
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.error() == errc::auth_failed));
        (void)c.session.connected();
        (void)c.handshake();
        c.introduce(hello_reply);
        BOOST_TEST((c.load() == action::serve));
        BOOST_TEST((c.session.lost(c.now) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::unavailable));
    }
}

BOOST_AUTO_TEST_CASE(a_refused_database_or_script_is_an_error_of_the_server) {
    auto c = session_bench{{.user = "", .password = "", .database = 99}};
    c.open();
    (void)c.reply(hello_reply);
    BOOST_TEST((c.reply("-ERR DB index is out of range\r\n") == action::disconnect));
    BOOST_TEST((c.session.error() == errc::server_error));
    BOOST_TEST(c.session.earliest_ready_at() >= c.now + 500'000);

    auto no_scripts = session_bench{};
    no_scripts.open();
    no_scripts.introduce(hello_reply);
    const auto denied =
        std::string{"-NOPERM this user has no permissions to run the 'script|load' command\r\n"};
    BOOST_TEST((no_scripts.reply(denied) == action::nothing));
    BOOST_TEST((no_scripts.reply(denied) == action::nothing));
    BOOST_TEST((no_scripts.reply("-NOSCRIPT No matching script\r\n") == action::disconnect));
    BOOST_TEST((no_scripts.session.error() == errc::auth_failed));
    BOOST_TEST(no_scripts.session.earliest_ready_at() >= no_scripts.now + 500'000);
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_than_a_command_has_comes_from_a_stranger) {
    const auto ends_refused = [](session_bench& c, std::string_view last) {
        BOOST_TEST((c.reply(last) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::bad_reply));
        BOOST_TEST(c.session.is_refused());
    };
    for (const std::string_view hello : {"*0\r\n", "$5\r\nHELLO\r\n", ":1\r\n"}) {
        auto c = session_bench{};
        c.open();
        ends_refused(c, hello);
    }
    for (const std::string_view selected : {"$2\r\nOK\r\n", ":1\r\n"}) {
        auto c = session_bench{{.user = "", .password = "", .database = 3}};
        c.open();
        BOOST_TEST((c.reply(hello_reply) == action::nothing));
        ends_refused(c, selected);
    }
    for (const std::string_view loaded : {"$2\r\nhi\r\n", "+OK\r\n", "$-1\r\n"}) {
        auto c = session_bench{};
        c.open();
        c.introduce(hello_reply);
        BOOST_TEST((c.reply(test::load_reply) == action::nothing));
        BOOST_TEST((c.reply(loaded) == action::nothing));
        ends_refused(c, test::permissions_reply);
    }
}

BOOST_AUTO_TEST_CASE(scripts_count_as_loaded_once_per_handshake_and_only_together) {
    auto c = session_bench{};
    c.open();
    c.introduce(hello_reply);
    BOOST_TEST((c.reply(test::load_reply) == action::nothing));
    BOOST_TEST((c.reply(loading) == action::nothing));
    BOOST_TEST((c.reply(loading) == action::nothing));
    BOOST_TEST(c.session.scripts_loaded() == 0U);
    for (auto handshakes = 1U; handshakes <= 3U; ++handshakes) {
        c.now = c.session.wake_at().value();
        if (c.session.wake(c.now) == action::connect)
            (void)c.session.connected();
        (void)c.handshake();
        c.introduce(hello_reply);
        BOOST_TEST((c.load() == action::serve));
        BOOST_TEST(c.session.scripts_loaded() == handshakes);
        BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    }
    BOOST_TEST(c.session.script_loads() == 8U);
}

BOOST_AUTO_TEST_CASE(pushes_while_handshake_answer_nothing) {
    auto c = session_bench{};
    c.open();
    BOOST_TEST((c.reply(">1\r\n$3\r\nfoo\r\n") == action::nothing));
    c.introduce(hello_reply);
    BOOST_TEST((c.reply(">1\r\n$3\r\nfoo\r\n") == action::nothing));
    BOOST_TEST((c.load() == action::serve));
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_asked_for_ends_the_connection) {
    auto c = session_bench{};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.reply(ok) == action::disconnect));
    BOOST_TEST((c.session.state() == session_state::waiting));
}

BOOST_AUTO_TEST_SUITE_END()

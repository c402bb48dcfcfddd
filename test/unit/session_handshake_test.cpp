// SPDX-License-Identifier: BSL-1.0
//
// The handshake of a session: its commands, and what it does after each reply to them.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string_view>

BOOST_AUTO_TEST_SUITE(session_handshakes)

namespace {

using namespace colimit;
using redis::action;
using redis::session_state;
using test::hello_reply;
using test::load_reply;
using test::loading;
using test::ok;
using test::session_bench;

constexpr std::string_view no_info = "$0\r\n\r\n";

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
    BOOST_TEST(c.sent() == "HELLO 3");
    c.serve();
    BOOST_TEST((c.session.state() == session_state::ready));
    BOOST_TEST(!c.session.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(credentials_and_database_are_part_of_the_handshake) {
    auto c = session_bench{{.user = "me", .password = "a b", .database = 7}};
    c.open("HELLO 3 AUTH me 'a b'; SELECT 7");
    c.hear({hello_reply});
    c.serve(ok);
}

BOOST_AUTO_TEST_CASE(a_password_alone_is_that_of_the_default_user) {
    session_bench{{.password = "secret"}}.open("HELLO 3 AUTH default secret");
}

BOOST_AUTO_TEST_CASE(resp2_is_greeted_without_a_hello) {
    auto plain = session_bench{{.protocol = 2}};
    plain.open("PING; INFO server");
    plain.hear({test::pong});
    plain.serve("-NOPERM this user has no permissions to run the 'info' command\r\n");
    session_bench{{.user = "me", .password = "pw", .database = 1, .protocol = 2}}.open(
        "AUTH me pw; SELECT 1; INFO server");
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_hello_is_greeted_again_in_resp2) {
    for (const std::string_view answer :
         {"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n",
          "-NOPROTO unsupported protocol version\r\n",
          "-ERR Protocol version is not an integer or out of range\r\n"}) {
        auto c = session_bench{{.password = "pw"}};
        c.open();
        c.hear({answer}, action::send);
        BOOST_TEST((c.session.state() == session_state::handshake));
        BOOST_TEST(c.sent() == "AUTH default pw; INFO server");
        c.hear({ok});
        c.serve(no_info);
    }
}

BOOST_AUTO_TEST_CASE(the_second_handshake_of_an_old_server_has_time_of_its_own) {
    auto c = session_bench{};
    c.open();
    c.now += 900'000;
    c.hear({test::no_hello}, action::send);
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
}

BOOST_AUTO_TEST_CASE(the_next_connection_is_tried_in_resp3_again) {
    auto c = session_bench{};
    c.open();
    c.hear({test::no_hello}, action::send);
    (void)c.sent();
    c.hear({test::pong});
    c.serve(no_info);
    c.lose();
    c.open_again("HELLO 3");
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_data_is_greeted_again_on_the_same_connection) {
    for (const std::string_view answer :
         {loading, std::string_view{"-BUSY Redis is busy running a script.\r\n"},
          std::string_view{"-MASTERDOWN Link with MASTER is down\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce();
        c.hear({answer, answer, answer});
        BOOST_TEST((c.session.state() == session_state::waiting));
        BOOST_TEST((c.session.error() == errc::unavailable));
        const auto at = c.session.wake_at().value();
        BOOST_TEST(c.session.earliest_ready_at() == at);
        BOOST_TEST((c.session.wake(at - 1) == action::nothing));
        BOOST_TEST((c.session.wake(at) == action::send));
        (void)c.sent();
        c.serve();
    }
}

BOOST_AUTO_TEST_CASE(refused_credentials_are_a_distinct_trouble_and_tried_again_slowly) {
    for (const std::string_view answer :
         {test::wrong_password,
          std::string_view{
              "-NOAUTH HELLO must be called with the client already authenticated\r\n"}}) {
        auto c = session_bench{{.reconnect_delay_min = 10, .reconnect_delay_max = 1'000'000}};
        c.open();
        c.fail({answer}, errc::auth_failed);
        BOOST_TEST(c.session.earliest_ready_at() >= c.now + 500'000);
        // It stays so until a connection says otherwise.
        c.open_again();
        BOOST_TEST((c.session.error() == errc::auth_failed));
        c.serve();
        c.lose();
        BOOST_TEST((c.session.error() == errc::unavailable));
    }
}

BOOST_AUTO_TEST_CASE(a_refused_database_or_script_is_an_error_of_the_server) {
    auto c = session_bench{{.database = 99}};
    c.open();
    c.fail({hello_reply, "-ERR DB index is out of range\r\n"}, errc::server_error);

    constexpr std::string_view denied =
        "-NOPERM this user has no permissions to run the 'script|load' command\r\n";
    auto no_scripts = session_bench{};
    no_scripts.open();
    no_scripts.introduce();
    no_scripts.fail({denied, denied, "-NOSCRIPT No matching script\r\n"}, errc::auth_failed);
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_than_a_command_has_comes_from_a_stranger) {
    for (const std::string_view hello : {"*0\r\n", "$5\r\nHELLO\r\n", ":1\r\n"}) {
        auto c = session_bench{};
        c.open();
        c.fail({hello}, errc::bad_reply);
    }
    for (const std::string_view selected : {"$2\r\nOK\r\n", ":1\r\n"}) {
        auto c = session_bench{{.database = 3}};
        c.open();
        c.fail({hello_reply, selected}, errc::bad_reply);
    }
    for (const std::string_view loaded : {"$2\r\nhi\r\n", "+OK\r\n", "$-1\r\n"}) {
        auto c = session_bench{};
        c.open();
        c.introduce();
        c.fail({load_reply, loaded, test::permissions_reply}, errc::bad_reply);
    }
}

BOOST_AUTO_TEST_CASE(scripts_count_as_loaded_once_per_handshake_and_only_together) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    c.hear({load_reply, loading, loading});
    BOOST_TEST(c.session.scripts_loaded() == 0U);
    for (auto handshakes = 1U; handshakes <= 3U; ++handshakes) {
        if (c.wait() == action::connect)
            (void)c.session.connected();
        (void)c.sent();
        c.serve();
        BOOST_TEST(c.session.scripts_loaded() == handshakes);
        c.lose();
    }
    BOOST_TEST(c.session.script_loads() == 8U);
}

BOOST_AUTO_TEST_CASE(pushes_while_handshake_answer_nothing) {
    constexpr std::string_view push = ">1\r\n$3\r\nfoo\r\n";
    auto c = session_bench{};
    c.open();
    c.hear({push});
    c.introduce();
    c.hear({push});
    c.load();
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_asked_for_ends_the_connection) {
    auto c = session_bench{};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    c.hear({ok}, action::disconnect);
    BOOST_TEST((c.session.state() == session_state::waiting));
}

BOOST_AUTO_TEST_SUITE_END()

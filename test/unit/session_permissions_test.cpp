// SPDX-License-Identifier: BSL-1.0
//
// The permissions of a session's user: the reply to the test of permissions, and read-only servers.

#include <support/session_bench.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_permissions)

namespace {

using namespace colimit;
using redis::action;
using test::hello_reply;
using test::session_bench;

[[nodiscard]] std::string permissions(std::string_view needed, std::string_view others,
                                      std::string_view written) {
    auto out = std::string{};
    redis::resp::append_command(out, {needed, others, written});
    return out;
}

constexpr std::string_view key_denied =
    "ERR The user executing the script can't access at least one of the keys mentioned in the "
    "command arguments";
constexpr std::string_view read_only = "READONLY You can't write against a read only replica.";

} // namespace

BOOST_AUTO_TEST_CASE(a_user_who_lacks_what_every_check_needs_is_refused) {
    for (const auto& reply :
         {permissions("TIME", "", ""), permissions("SET", "", key_denied),
          std::string{"-ERR unknown command 'EVALSHA', with args beginning with: 'x'\r\n"},
          std::string{"-NOPERM this user has no permissions to run the 'evalsha' command\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce(hello_reply);
        BOOST_TEST((c.load(reply) == action::disconnect));
        BOOST_TEST((c.session.error() == errc::auth_failed));
    }
}

BOOST_AUTO_TEST_CASE(other_replies_to_the_question_for_permissions_refuse_nobody) {
    for (const std::string& reply :
         {permissions("", "HSET PFADD", ""), permissions("", "", read_only),
          permissions("", "", key_denied), std::string{"*0\r\n"}, std::string{"$2\r\nhi\r\n"},
          std::string{"-NOSCRIPT No matching script\r\n"},
          std::string{"-CLUSTERDOWN Hash slot not served\r\n"},
          std::string{"-MOVED 1 127.0.0.1:1\r\n"},
          std::string{"-ERR Error running script (call to f_1): @user_script:1: boom\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce(hello_reply);
        BOOST_TEST((c.load(reply) == action::serve));
        BOOST_TEST(c.session.denied_commands() ==
                   (reply.find("PFADD") == std::string::npos ? "" : "HSET PFADD"));
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_serves_when_it_is_writable) {
    auto c = session_bench{};
    c.make_ready();
    BOOST_TEST((c.session.lost(c.now, redis::recovery::leave_read_only) == action::disconnect));
    for (const auto is_writable : {false, false, true}) {
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        (void)c.handshake();
        c.introduce(hello_reply);
        BOOST_TEST((c.load(permissions("", "", is_writable ? "" : read_only)) ==
                    (is_writable ? action::serve : action::disconnect)));
        BOOST_TEST((c.session.error() == errc::unavailable));
    }
}

BOOST_AUTO_TEST_SUITE_END()

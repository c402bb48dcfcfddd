// SPDX-License-Identifier: BSL-1.0
//
// The permissions of a session's user: the reply to the test of permissions, and read-only servers.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_permissions)

namespace {

using namespace colimit;
using redis::action;
using test::permissions;
using test::session_bench;

constexpr std::string_view key_denied =
    "ERR The user executing the script can't access at least one of the keys mentioned in the "
    "command arguments";
const auto not_written =
    permissions("", "", "READONLY You can't write against a read only replica.");

} // namespace

BOOST_AUTO_TEST_CASE(a_user_who_lacks_what_every_check_needs_is_refused) {
    for (const auto& reply :
         {permissions("TIME", "", ""), permissions("SET", "", key_denied),
          std::string{"-ERR unknown command 'EVALSHA', with args beginning with: 'x'\r\n"},
          std::string{"-NOPERM this user has no permissions to run the 'evalsha' command\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce();
        c.fail({test::load_reply, test::load_reply, reply}, errc::auth_failed);
    }
}

BOOST_AUTO_TEST_CASE(other_replies_to_the_question_for_permissions_refuse_nobody) {
    for (const std::string& reply :
         {permissions("", "HSET PFADD", ""), not_written, permissions("", "", key_denied),
          std::string{"*0\r\n"}, std::string{"$2\r\nhi\r\n"},
          std::string{"-NOSCRIPT No matching script\r\n"},
          std::string{"-CLUSTERDOWN Hash slot not served\r\n"},
          std::string{"-MOVED 1 127.0.0.1:1\r\n"},
          std::string{"-ERR Error running script (call to f_1): @user_script:1: boom\r\n"}}) {
        auto c = session_bench{};
        c.open();
        c.introduce();
        c.load(reply);
        BOOST_TEST(c.session.denied_commands() ==
                   (reply.find("PFADD") == std::string::npos ? "" : "HSET PFADD"));
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_serves_when_it_is_writable) {
    auto c = session_bench{};
    c.make_ready();
    c.lose(redis::recovery::leave_read_only);
    for (const auto is_writable : {false, false, true}) {
        c.open_again();
        c.introduce();
        if (is_writable)
            c.load();
        else
            c.load(not_written, action::disconnect);
        BOOST_TEST((c.session.error() == errc::unavailable));
    }
}

BOOST_AUTO_TEST_SUITE_END()

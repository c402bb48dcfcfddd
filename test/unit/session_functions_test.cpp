// SPDX-License-Identifier: BSL-1.0
//
// The handshake where scripts are functions: it loads nothing, and checks that an administrator has
// loaded the library of this version.

#include <redis/protocol/script.hpp>
#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(session_functions)

namespace {

using namespace colimit;
using redis::action;
using test::hello_reply;
using test::permissions_reply;

struct session_bench : test::session_bench {
    session_bench()
        : test::session_bench({.probe_key = "p", .command = redis::script_command::fcall}) {
        open();
        introduce();
    }

    /// Until the only reply to the second part is expected.
    void introduce() {
        hear({hello_reply}, action::send);
        BOOST_TEST(sent() == "FCALL " + std::string{redis::permissions_script.function} + " 0 p");
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_server_with_the_library_serves_and_loads_nothing) {
    auto c = session_bench{};
    c.hear({permissions_reply}, action::serve);
    BOOST_TEST(c.session.script_loads() == 0U);
    BOOST_TEST(c.session.scripts_loaded() == 0U);
    BOOST_TEST(c.errors.codes.empty());
}

BOOST_AUTO_TEST_CASE(a_server_without_the_library_is_refused_until_it_is_loaded) {
    auto c = session_bench{};
    c.fail({"-ERR Function not found\r\n"}, errc::invalid_config,
           "*the server lacks the function library " + std::string{redis::function_library} +
               ": load share/colimit/colimit.lua with FUNCTION LOAD");
    c.open_again();
    c.introduce();
    c.hear({permissions_reply}, action::serve);
    BOOST_TEST(!c.session.is_refused());
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_old_for_functions_is_refused_with_the_version_it_needs) {
    session_bench{}.fail(
        {"-ERR unknown command `FCALL`, with args beginning with: `c`, `0`, `p`, \r\n"},
        errc::auth_failed, "*needs FCALL, which Redis has since 7.0");
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_call_functions_is_refused_in_the_words_of_the_server) {
    session_bench{}.fail({"-NOPERM this user has no permissions to run the 'fcall' command\r\n"},
                         errc::auth_failed,
                         "*NOPERM this user has no permissions to run the 'fcall'");
}

BOOST_AUTO_TEST_CASE(an_error_for_the_state_of_the_server_refuses_no_server_that_may_recover) {
    for (const std::string_view answer :
         {std::string_view{"-OOM command not allowed when used memory > 'maxmemory'.\r\n"},
          test::read_only, std::string_view{"-CLUSTERDOWN Hash slot not served\r\n"}})
        session_bench{}.hear({answer}, action::serve);
}

/// As with a script, whose probe reports the error.
BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_serves_when_it_is_writable) {
    auto c = session_bench{};
    c.hear({permissions_reply}, action::serve);
    c.lose(redis::recovery::leave_read_only);
    for (const auto is_writable : {false, false, true}) {
        c.open_again();
        c.introduce();
        if (is_writable)
            c.hear({permissions_reply}, action::serve);
        else
            c.hear({test::read_only}, action::disconnect);
    }
}

BOOST_AUTO_TEST_SUITE_END()

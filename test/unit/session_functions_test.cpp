// SPDX-License-Identifier: BSL-1.0
//
// The handshake where scripts are functions: it loads nothing, and checks that an administrator has
// loaded the library of this version.

#include <support/session_bench.hpp>
#include <support/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_functions)

namespace {

using namespace colimit;
using redis::action;
using test::hello_reply;
using test::permissions_reply;

struct session_bench : test::session_bench {
    session_bench()
        : test::session_bench({.user = "",
                               .password = "",
                               .probe_key = "p",
                               .command = redis::script_command::fcall}) {
        session.report_to(errors);
    }

    /// Until the only reply to the second part is expected.
    void introduce() {
        BOOST_TEST((reply(hello_reply) == action::send));
        BOOST_TEST((handshake() ==
                    std::vector<test::command>{
                        {"FCALL", std::string{redis::permissions_script.function}, "0", "p"}}));
    }

    void check_refusal(std::string_view answer, errc code, std::string_view text) {
        BOOST_TEST((reply(answer) == action::disconnect));
        BOOST_TEST((session.error() == code));
        BOOST_TEST(session.is_refused());
        BOOST_TEST(errors.text.find(text) != std::string::npos, errors.text);
        BOOST_TEST(session.wake_at().value() >= now + 750'000); // half of the longest pause
    }

    test::reports errors;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_server_with_the_library_serves_and_loads_nothing) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    BOOST_TEST((c.reply(permissions_reply) == action::serve));
    BOOST_TEST(c.session.script_loads() == 0U);
    BOOST_TEST(c.session.scripts_loaded() == 0U);
    BOOST_TEST(c.errors.codes.empty());
}

BOOST_AUTO_TEST_CASE(a_server_without_the_library_is_refused_until_it_is_loaded) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    c.check_refusal("-ERR Function not found\r\n", errc::invalid_config,
                    "the server lacks the function library " +
                        std::string{redis::function_library} +
                        ": load share/colimit/colimit.lua with FUNCTION LOAD");
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    BOOST_TEST((c.session.connected() == action::send));
    (void)c.handshake();
    c.introduce();
    BOOST_TEST((c.reply(permissions_reply) == action::serve));
    BOOST_TEST(!c.session.is_refused());
}

BOOST_AUTO_TEST_CASE(a_server_that_is_too_old_for_functions_is_refused_with_the_version_it_needs) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    c.check_refusal("-ERR unknown command `FCALL`, with args beginning with: `c`, `0`, `p`, \r\n",
                    errc::auth_failed, "needs FCALL, which Redis has since 7.0");
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_call_functions_is_refused_in_the_words_of_the_server) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    c.check_refusal("-NOPERM this user has no permissions to run the 'fcall' command\r\n",
                    errc::auth_failed, "NOPERM this user has no permissions to run the 'fcall'");
}

BOOST_AUTO_TEST_CASE(an_error_for_the_state_of_the_server_refuses_no_server_that_may_recover) {
    for (const std::string_view answer :
         {"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
          "-READONLY You can't write against a read only replica.\r\n",
          "-CLUSTERDOWN Hash slot not served\r\n"}) {
        auto c = session_bench{};
        c.open();
        c.introduce();
        BOOST_TEST((c.reply(answer) == action::serve), answer);
    }
}

/// As with a script, whose probe reports the error.
BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_serves_when_it_is_writable) {
    auto c = session_bench{};
    c.open();
    c.introduce();
    BOOST_TEST((c.reply(permissions_reply) == action::serve));
    BOOST_TEST((c.session.lost(c.now, redis::recovery::leave_read_only) == action::disconnect));
    for (const auto is_writable : {false, false, true}) {
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        (void)c.handshake();
        c.introduce();
        BOOST_TEST(
            (c.reply(is_writable ? permissions_reply
                                 : "-READONLY You can't write against a read only replica.\r\n") ==
             (is_writable ? action::serve : action::disconnect)));
    }
}

BOOST_AUTO_TEST_SUITE_END()

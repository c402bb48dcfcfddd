// SPDX-License-Identifier: BSL-1.0
//
// The last problem: bounded, printable, without the password, and counted while it is the same.

#include <boost/test/unit_test.hpp>

#include <engine/problem_log.hpp>

#include <sstream>
#include <string>
#include <string_view>

using namespace colimit;
using detail::problem_log;

namespace {

[[nodiscard]] std::string shown(std::string_view text, std::string password = {}) {
    auto log = problem_log{std::move(password)};
    log.note(errc::server_error, phase::script, text);
    return log.last().value().text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(problem_logs)

BOOST_AUTO_TEST_CASE(the_same_problem_is_counted_and_another_replaces_it) {
    auto log = problem_log{""};
    BOOST_TEST(!log.last());
    for (auto i = 0; i < 3; ++i)
        log.note(errc::server_error, phase::script, "OOM command not allowed");
    const auto first = log.last().value();
    BOOST_TEST((first.code == errc::server_error));
    BOOST_TEST(first.phase == phase::script);
    BOOST_TEST(first.count == 3U);
    BOOST_TEST((first.first <= first.last));
    log.note(errc::server_error, phase::reply, "OOM command not allowed");
    BOOST_TEST(log.last()->count == 1U);
    log.note(errc::unavailable, phase::reply, "OOM command not allowed");
    BOOST_TEST(log.last()->count == 1U);
    BOOST_TEST((log.last()->first >= first.last));
}

BOOST_AUTO_TEST_CASE(bytes_that_do_not_print_are_escaped) {
    BOOST_TEST(shown("a\x1b[31m\tb\xc3\xa4\x7f") == "a\\x1b[31m\\x09b\\xc3\\xa4\\x7f");
    BOOST_TEST(shown(std::string_view{"a\0b", 3}) == "a\\x00b");
    BOOST_TEST(shown("line \r\n") == "line");
    BOOST_TEST(shown("two\r\nlines") == "two\\x0d\\x0alines");
    BOOST_TEST(shown("") == "");
}

BOOST_AUTO_TEST_CASE(a_text_of_any_length_is_cut_where_it_is_full) {
    constexpr auto most = limits::problem_bytes;
    BOOST_TEST(shown(std::string(most, 'a')) == std::string(most, 'a'));
    BOOST_TEST(shown(std::string(most + 1, 'a')) == std::string(most - 3, 'a') + "...");
    for (std::size_t n = most - 8; n < most + 8; ++n) {
        const auto text = shown(std::string(n, 'a') + "\x01\x02\x03");
        BOOST_TEST(text.size() <= most);
        BOOST_TEST(text.ends_with("...") == (n + 12 > most));
        const auto escape = text.rfind("\\x"); // whole, if there is one
        BOOST_TEST((escape == std::string::npos || text.size() - escape >= 4));
    }
    BOOST_TEST(shown(std::string(1'000'000, '\xff')).size() <= most);
}

BOOST_AUTO_TEST_CASE(the_password_and_repeated_arguments_are_left_out) {
    BOOST_TEST(shown("bad s3cret and s3cret", "s3cret") == "bad *** and ***");
    BOOST_TEST(shown("ERR unknown command `HELLO`, with args beginning with: `3` `AUTH` `x`") ==
               "ERR unknown command `HELLO`,");
    BOOST_TEST(shown("an error", "err") == "an error"); // too short to be replaced
    BOOST_TEST(shown("nul\x01gap", "nul\x01") == "***gap");
}

BOOST_AUTO_TEST_CASE(a_denial_that_names_no_command_is_followed_by_those_of_the_handshake) {
    auto log = problem_log{""};
    log.name_denied("SET");
    const auto shown = [&log](std::string_view text, phase where = phase::script) {
        log.note(errc::auth_failed, where, text);
        BOOST_TEST(log.take_denial() ==
                   (text.find("NOPERM") != text.npos || where == phase::script));
        return log.last().value().text;
    };
    const auto unnamed =
        std::string{"ERR The user executing the script can't run this command or subcommand"};
    BOOST_TEST(shown(unnamed) == unnamed + "; commands denied in the handshake: SET");
    for (const std::string text :
         {"ERR ACL failure in script: User ann has no permissions to run the 'get' command",
          "NOPERM this user has no permissions to run the 'evalsha' command",
          "NOPERM this user has no permissions to access one of the keys used as arguments"})
        BOOST_TEST(shown(text) == text);
    const auto exec = std::string{"EXECABORT Transaction discarded because of: NOPERM 'exec'"};
    BOOST_TEST(shown(exec, phase::reply) == exec);
    BOOST_TEST(shown("WRONGPASS no", phase::handshake) == "WRONGPASS no");
}

BOOST_AUTO_TEST_CASE(a_problem_prints_as_one_line) {
    auto out = std::ostringstream{};
    out << problem{.code = errc::closed, .phase = phase::tls, .text = "words", .count = 2} << ' '
        << health_state::degraded << ' ' << phase::resolve;
    BOOST_TEST(out.str() == "TLS: the limiter was closed: words (2 times) degraded resolve");
}

BOOST_AUTO_TEST_SUITE_END()

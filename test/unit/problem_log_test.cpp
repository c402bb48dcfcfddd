// SPDX-License-Identifier: BSL-1.0
//
// The last problem: bounded, printable, without the password, and counted while it is the same.

#include <limiter/problem_log.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(problem_logs)

using namespace colimit;
using detail::problem_log;

namespace {

[[nodiscard]] std::int64_t no_clock() noexcept {
    return 0;
}

[[nodiscard]] std::string shown(std::string_view text, std::string password = {}) {
    auto log = problem_log{std::move(password), no_clock};
    log.note({errc::server_error, phase::script, text});
    return log.last().value().text;
}

/// Returns the quoted form of bytes that were received instead of a reply.
[[nodiscard]] std::string quoted(std::string_view received, std::string password = {}) {
    auto log = problem_log{std::move(password), no_clock};
    log.note({.code = errc::bad_reply,
              .phase = phase::handshake,
              .text = "it replied:",
              .received = received});
    const auto text = log.last().value().text;
    BOOST_TEST(text.starts_with("it replied:"));
    return text.substr(std::min(text.size(), std::size_t{12}));
}

} // namespace

BOOST_AUTO_TEST_CASE(the_same_problem_is_counted_and_another_replaces_it) {
    auto log = problem_log{"", no_clock};
    BOOST_TEST(!log.last());
    for (auto i = 0; i < 3; ++i)
        log.note({errc::server_error, phase::script, "OOM command not allowed"});
    const auto first = log.last().value();
    BOOST_TEST((first.code == errc::server_error));
    BOOST_TEST(first.phase == phase::script);
    BOOST_TEST(first.count == 3U);
    BOOST_TEST((first.first <= first.last));
    log.note({errc::server_error, phase::reply, "OOM command not allowed"});
    BOOST_TEST(log.last()->count == 1U);
    log.note({errc::unavailable, phase::reply, "OOM command not allowed"});
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
    constexpr auto most = limits::max_problem_bytes;
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
    BOOST_TEST(shown("nul\x01gap", "nul\x01") == "***gap");
}

BOOST_AUTO_TEST_CASE(a_password_in_another_notation_is_left_out) {
    for (const std::string text : {"p@ss\\%\n", "p%40ss%5C%25%0A", "%70%40%73%73%5c%25%0a",
                                   "p@ss\\\\%\\n", "p@ss\\x5c%\\x0a"}) {
        BOOST_TEST(shown("bad " + text + "!", "p@ss\\%\n") == "bad ***!");
        BOOST_TEST(quoted("bad " + text + "!\r\n", "p@ss\\%\n") == "bad ***!");
    }
    BOOST_TEST(shown("bad p%41ss p%4", "p@ss") == "bad p%41ss p%4");
    BOOST_TEST(shown("bad \\n\\r\\t\\a\\b!", "\n\r\t\a\b") == "bad ***!");
    BOOST_TEST(shown("bad \\n\\r\\t\\b\\a!", "\n\r\t\a\b") != "bad ***!");
}

BOOST_AUTO_TEST_CASE(of_several_readings_of_a_text_the_longest_that_is_the_password_is_left_out) {
    BOOST_TEST(shown("bad %252525!", "%2525") == "bad ***!"); // as it is, and encoded
}

BOOST_AUTO_TEST_CASE(a_password_is_searched_for_before_the_text_is_cut) {
    const auto password = std::string(100, 's') + "3cret";
    for (std::size_t n = limits::max_problem_bytes - 110; n < limits::max_problem_bytes + 8; ++n) {
        const auto text = shown(std::string(n, 'a') + password + std::string(200, 'b'), password);
        BOOST_TEST(text.find('s') == text.npos, text);
        const auto quote = quoted(std::string(n, 'a') + password + "\r\n", password);
        BOOST_TEST(quote.find('s') == quote.npos, quote);
    }
}

BOOST_AUTO_TEST_CASE(the_beginning_of_a_password_where_the_text_ends_is_left_out) {
    const auto password = std::string{"hunter %2 22"};
    for (std::size_t n = 1; n < password.size(); ++n) {
        const auto part = password.substr(0, n);
        BOOST_TEST(quoted("unknown: " + part, password) == "unknown: ***");
        BOOST_TEST(shown("unknown: " + part, password) ==
                   "unknown: " + (n < 4 ? part : std::string{"***"}));
    }
    BOOST_TEST(quoted("bad %68unter%", password) == "bad ***");
    BOOST_TEST(quoted("bad hunter%2", password) == "bad ***");
    // A line that has ended is whole.
    BOOST_TEST(quoted("220 what the h\r\n", password) == "220 what the h");
    BOOST_TEST(quoted("bad two\r\nlines\r\n", "two\r\nlines") == "bad ***");
    BOOST_TEST(quoted("bad two\r\nli", "two\r\nlines") == "bad ***");
}

BOOST_AUTO_TEST_CASE(words_with_a_password_that_is_too_short_to_be_replaced_are_left_out) {
    const auto left_out =
        std::string{"(omitted: it contains the password, which is too short to be replaced)"};
    BOOST_TEST(shown("an error", "err") == left_out);
    BOOST_TEST(shown("an e%72r", "err") == left_out);
    BOOST_TEST(shown("a problem", "err") == "a problem");
    BOOST_TEST(quoted("500 abc: not understood\r\n", "abc") == left_out);
    BOOST_TEST(quoted("500 understood a", "abc") == left_out);
    BOOST_TEST(quoted("500 not understood\r\n", "abc") == "500 not understood");
    auto log = problem_log{"err", no_clock}; // what this process says is no secret
    log.note_own(errc::unavailable, phase::connect, "an error:", "of the system");
    BOOST_TEST(log.last()->text == "an error: of the system");
}

BOOST_AUTO_TEST_CASE(the_first_line_of_what_was_received_is_quoted_whatever_its_bytes_are) {
    BOOST_TEST(quoted({"\0\0\x12\4http2", 9}) == "\\x00\\x00\\x12\\x04http2");
    BOOST_TEST(quoted("\r\n220 mail\r\nmore") == "220 mail");
    BOOST_TEST(quoted("\r\n") == "");
    BOOST_TEST(quoted(std::string(100'000, 'x')).size() == limits::max_problem_bytes - 12);
}

BOOST_AUTO_TEST_CASE(a_denial_that_names_no_command_is_followed_by_those_of_the_handshake) {
    static auto now = std::int64_t{0}; // each denial may be reported at once
    auto log = problem_log{"", +[]() noexcept { return now += detail::denial_log::interval; }};
    log.name_denied("SET");
    const auto shown = [&log](std::string_view text, phase where = phase::script) {
        log.note({errc::auth_failed, where, text});
        const auto* denial = log.denials().take(now);
        BOOST_TEST((denial != nullptr) ==
                   (text.find("NOPERM") != text.npos || where == phase::script));
        BOOST_TEST((denial == nullptr || denial->as_problem().text == log.last()->text));
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

BOOST_AUTO_TEST_CASE(why_words_are_left_out_makes_room_for_the_list_of_denied_commands) {
    constexpr std::string_view begin = "(omitted: it contain";
    constexpr std::string_view between = "; commands denied in the handshake: ";
    const auto commands =
        std::string(limits::max_problem_bytes - begin.size() - between.size(), 'C');
    auto log = problem_log{"use", no_clock};
    log.name_denied(commands);
    log.note({errc::auth_failed, phase::script,
              "ERR The user executing the script can't run this command or subcommand"});
    BOOST_TEST(log.last()->text == std::string{begin} + std::string{between} + commands);
}

BOOST_AUTO_TEST_CASE(no_name_in_the_list_of_denied_commands_is_lost) {
    const auto commands = std::string{
        "SET SETRANGE GET GETRANGE DEL EXISTS PEXPIREAT PEXPIRE HMGET HSET HDEL HLEN UNLINK RENAME "
        "ZADD ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZSCORE ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE "
        "PFADD PFCOUNT"}; // all that lua/probe knows
    const auto needed = "NOPERM the user has no permissions to run TIME MGET, nor " + commands;
    BOOST_TEST(shown(needed) == needed);
    auto log = problem_log{"", no_clock};
    log.name_denied(commands);
    log.note({errc::auth_failed, phase::script,
              "ERR The user executing the script can't run this command or subcommand" +
                  std::string(500, '.')});
    BOOST_TEST(log.last()->text.ends_with("; commands denied in the handshake: " + commands));
}

BOOST_AUTO_TEST_CASE(a_problem_is_the_last_one_since_a_time_if_it_explains_something) {
    static auto now = std::int64_t{0};
    auto log = problem_log{"", +[]() noexcept { return now; }};
    const auto any = [](errc) { return true; };
    BOOST_TEST(!log.last_since(0, any));
    now = 10;
    log.note({errc::server_error, phase::script, "OOM"});
    BOOST_TEST(log.last_since(10, any).has_value());
    BOOST_TEST(!log.last_since(11, any));
    BOOST_TEST(!log.last_since(10, [](errc code) { return code == errc::unavailable; }));
    now = 20;
    log.note({errc::server_error, phase::script, "OOM"});
    BOOST_TEST(log.last_since(20, any)->count == 2U);
}

namespace {

struct log_with_a_helper {
    void fail(errc code = errc::unavailable) { log.note({code, phase::reply, "the server"}); }
    void fail_helper() {
        const auto sentinel = redis::named_server{.host = "h", .port = 1, .is_sentinel = true};
        log.note(
            {.code = errc::unavailable, .phase = phase::reply, .text = "it", .server = &sentinel});
    }
    [[nodiscard]] std::string last() const { return log.last().value_or(problem{}).text; }
    [[nodiscard]] std::string unsolved() const { return log.unsolved().value_or(problem{}).text; }
    [[nodiscard]] std::string cause(std::int64_t since) const {
        return log.last_since(since, [](errc code) { return code == errc::unavailable; })
            .value_or(problem{})
            .text;
    }

    static inline std::int64_t now = 0;
    problem_log log{"", +[]() noexcept { return ++now; }};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_problem_of_a_helper_explains_errors_as_long_as_no_server_is_known) {
    auto of = log_with_a_helper{};
    of.fail_helper();
    of.fail_helper();
    BOOST_TEST(of.last() == "Sentinel h:1: it");
    BOOST_TEST(of.log.last()->count == 2U);
    BOOST_TEST(of.cause(of.now) == "Sentinel h:1: it");
    BOOST_TEST(of.cause(of.now + 1) == "");
    BOOST_TEST(of.unsolved() == "");
    of.fail();
    BOOST_TEST(of.cause(0) == "the server");
}

BOOST_AUTO_TEST_CASE(a_problem_of_a_helper_does_not_hide_an_unsolved_one_of_the_server) {
    auto of = log_with_a_helper{};
    of.log.note_ready();
    for (auto round = 1U; round <= 2; ++round) {
        of.fail_helper();
        BOOST_TEST(of.last() == "Sentinel h:1: it");
        BOOST_TEST(of.unsolved() == "");
        BOOST_TEST(of.cause(of.now) == "");
        of.fail();
        of.fail_helper();
        of.fail();
        of.fail_helper();
        BOOST_TEST(of.last() == "the server");
        BOOST_TEST(of.log.last()->count == 3 * round - 1);
        BOOST_TEST(of.unsolved() == "the server");
        BOOST_TEST(of.cause(of.now - 1) == "the server");
        BOOST_TEST(of.cause(of.now) == "");
        of.fail();
        of.log.note_ready();
        BOOST_TEST(of.last() == "the server"); // it is the last one
    }
}

BOOST_AUTO_TEST_CASE(a_problem_of_one_of_several_servers_names_it_and_hides_its_own_password) {
    auto log = problem_log{"of the address", no_clock};
    const auto text_of = [&](std::string_view host, std::uint16_t port) {
        const auto node = redis::named_server{.host = host, .port = port, .is_sentinel = false};
        log.note({.code = errc::unavailable,
                  .phase = phase::reply,
                  .text = "it is secret, or of the address",
                  .server = &node,
                  .password = "secret"});
        return log.last().value().text;
    };
    BOOST_TEST(text_of("h", 7) == "node h:7: it is ***, or of the address");
    BOOST_TEST(text_of("::1", 7) == "node [::1]:7: it is ***, or of the address");
    BOOST_TEST(text_of("::1", 0) == "node ::1: it is ***, or of the address");
}

BOOST_AUTO_TEST_CASE(a_problem_prints_as_one_line) {
    auto out = std::ostringstream{};
    out << problem{.code = errc::closed, .phase = phase::tls, .text = "words", .count = 2} << ' '
        << health_state::degraded << ' ' << phase::resolve;
    BOOST_TEST(out.str() == "TLS: the limiter was closed: words (2 times) degraded resolve");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The handshake for transactions: facts about the server, and a probe that names what the user may
// not run.

#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_transactions)

namespace {

using namespace colimit;
using redis::action;
using test::hello_reply;
using test::time_of_2023;

constexpr std::string_view echo = "$7\r\ncolimit\r\n";

struct session_bench : test::session_bench {
    session_bench() : test::session_bench({.protocol = 2, .transactions = true}) { open(); }
};

} // namespace

BOOST_AUTO_TEST_CASE(for_transactions_no_script_is_loaded_and_the_facts_of_the_server_are_asked) {
    auto c = test::session_bench{{.transactions = true}};
    c.open("HELLO 3; ECHO colimit; CLIENT ID; INFO server; TIME; " + c.commands_of_probe);
    c.hear({hello_reply, echo, ":17\r\n",
            "$53\r\n# Server\r\nrun_id:0123456789abcdef0123456789abcdef01\r\n\r\n"});
    c.now += 250;
    c.hear({time_of_2023});
    c.now += 10;
    BOOST_TEST((c.probe() == action::serve));
    BOOST_TEST(c.session.facts().origin == "0123456789abcdef.17.");
    BOOST_TEST(c.session.facts().time == 1'700'000'000'000'012);
    BOOST_TEST(c.session.facts().asked == c.now - 260);
    BOOST_TEST(c.session.facts().answered == c.now - 10);
}

BOOST_AUTO_TEST_CASE(the_longest_handshake_is_read_to_its_end) {
    auto c = test::session_bench{{.password = "secret", .database = 3, .transactions = true}};
    c.open();
    c.hear({hello_reply, test::ok});
    c.reply_facts();
    BOOST_TEST((c.probe() == action::serve));
}

BOOST_AUTO_TEST_CASE(where_info_is_not_allowed_the_time_stands_for_the_run) {
    auto c = session_bench{};
    c.reply_facts({echo, ":3\r\n", "-NOPERM this user has no permissions to run INFO\r\n",
                   "*2\r\n$4\r\n1700\r\n$2\r\n12\r\n"});
    BOOST_TEST((c.probe() == action::serve));
    BOOST_TEST(c.session.facts().origin == "t1700000012.3.");
}

BOOST_AUTO_TEST_CASE(a_command_that_transactions_need_and_the_user_may_not_run_is_named) {
    const auto probe = [](std::string_view command, std::string_view answer) {
        auto c = session_bench{};
        c.reply_facts();
        const auto end = c.probe(command, answer);
        const auto is_refused = !c.errors.text.empty();
        BOOST_TEST((end == (is_refused ? action::disconnect : action::serve)));
        BOOST_TEST((c.session.error() == (is_refused ? errc::auth_failed : errc::unavailable)));
        return c.errors.text + '|' + c.session.denied_commands();
    };
    BOOST_TEST(probe("PEXPIRE", "-NOPERM no 'pexpire'\r\n") ==
               "NOPERM no 'pexpire'; denied commands: PEXPIRE|");
    BOOST_TEST(probe("EXEC", "-EXECABORT Transaction discarded because of: NOPERM no 'exec'\r\n") ==
               "NOPERM no 'exec'; denied commands: EXEC|");
    BOOST_TEST(probe("PERSIST", "-NOPERM no 'persist'\r\n") == "|PERSIST");
    BOOST_TEST(probe("MULTI", "-ERR unknown command 'MULTI', with args beginning with: \r\n") ==
               "ERR unknown command 'MULTI'; denied commands: MULTI|");
    BOOST_TEST(probe("ZADD", "-OOM command not allowed\r\n") == "|");
    BOOST_TEST(probe("ZADD", "-READONLY You can't write against a read only replica.\r\n") == "|");
    BOOST_TEST(probe("EXEC", "*0\r\n") == "|");
}

BOOST_AUTO_TEST_CASE(of_several_denied_commands_the_first_is_quoted_and_all_are_named) {
    constexpr std::string_view queued = "+QUEUED\r\n";
    auto c = session_bench{};
    c.reply_facts();
    c.fail({test::ok, queued, "-NOPERM no 'zrevrange'\r\n", "-NOPERM no 'zadd'\r\n", queued, queued,
            queued, queued, "-NOPERM no 'zremrangebyrank'\r\n", queued, "-NOPERM no 'set'\r\n",
            queued, queued, queued, queued, queued, "-NOPERM no 'getdel'\r\n",
            "-ERR wrong number of arguments for 'zadd' command\r\n",
            "-EXECABORT Transaction discarded because of previous errors.\r\n"},
           errc::auth_failed, "NOPERM no 'zrevrange'; denied commands: ZREVRANGE ZADD");
    BOOST_TEST(c.session.denied_commands() == "ZREMRANGEBYRANK SET GETDEL");
}

BOOST_AUTO_TEST_CASE(a_key_that_the_user_may_not_access_is_reported_and_the_server_is_used) {
    for (const std::string why : {"this user has no permissions to access one of the keys used as "
                                  "arguments",
                                  "No permissions to access a key"}) {
        auto c = session_bench{};
        c.reply_facts();
        BOOST_TEST((c.probe("ZADD", "-NOPERM " + why + "\r\n") == action::serve));
        for (const auto code : c.errors.codes)
            BOOST_TEST((code == errc::auth_failed));
        BOOST_TEST(c.errors.text.starts_with("the user may not access the key"), c.errors.text);
        BOOST_TEST(c.session.denied_commands().empty());
    }
}

BOOST_AUTO_TEST_CASE(a_probe_after_a_handshake_that_failed_says_nothing) {
    auto c = session_bench{};
    c.reply_facts({echo, "-NOPERM no 'client|id'\r\n", "$0\r\n\r\n", time_of_2023});
    BOOST_TEST((c.probe("PEXPIRE", "-NOPERM no 'pexpire'\r\n") == action::disconnect));
    BOOST_TEST((c.errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST(c.errors.text == "NOPERM no 'client|id'");
}

BOOST_AUTO_TEST_CASE(without_an_id_or_a_time_there_are_no_transactions) {
    for (const std::string_view id : {"-NOPERM no\r\n", "+OK\r\n", ":3\r\n"}) {
        auto c = session_bench{};
        c.reply_facts({echo, id, "$0\r\n\r\n", id == ":3\r\n" ? "*0\r\n" : time_of_2023});
        BOOST_TEST((c.probe() == action::disconnect));
        const auto expected = id.starts_with("-NOPERM") ? errc::auth_failed : errc::bad_reply;
        BOOST_TEST((c.session.error() == expected));
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The session: what it says to a server, and what it does after every answer, loss and time-out.

#include <boost/test/unit_test.hpp>

#include <redis/error_sink.hpp>
#include <redis/script.hpp>
#include <redis/session.hpp>
#include <support/script_double.hpp>

#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(sessions)

namespace {

using namespace colimit;
using redis::action;
using redis::session_state;

constexpr std::string_view hello = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
constexpr std::string_view ok = "+OK\r\n";
constexpr std::string_view sha = "$40\r\n0123456789012345678901234567890123456789\r\n";
constexpr std::string_view allowed = "*3\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n";
constexpr std::string_view wrongpass = "-WRONGPASS invalid username-password pair\r\n";
constexpr std::string_view loading = "-LOADING Redis is loading the dataset in memory\r\n";

/// They come behind the facts that transactions need, and ask about the empty key.
const std::vector<test::command> commands_of_probe{{"MULTI"},
                                                   {"ZREMRANGEBYSCORE", "", "-inf", "(0"},
                                                   {"ZREVRANGE", "", "0", "0", "WITHSCORES"},
                                                   {"ZADD", "", "XX", "0", "m"},
                                                   {"ZCOUNT", "", "(0", "+inf"},
                                                   {"PTTL", ""},
                                                   {"PEXPIRE", "", "1000"},
                                                   {"ZREM", "", "m"},
                                                   {"ZREMRANGEBYRANK", "", "0", "0"},
                                                   {"PERSIST", ""},
                                                   {"ZADD"},
                                                   {"EXEC"}};

constexpr std::string_view time_of_2023 = "*2\r\n$10\r\n1700000000\r\n$2\r\n12\r\n";

struct connection {
    explicit connection(redis::session_settings s = {}) : session(std::move(s)) {}

    [[nodiscard]] std::vector<test::command> greeting() {
        auto out = std::string{};
        session.greeting(out);
        return test::commands_of(out);
    }

    action reply(std::string_view bytes) {
        auto reader = redis::resp::decoder{};
        if (reader.feed(bytes) != redis::resp::progress::complete)
            throw std::runtime_error{"not one whole reply"};
        return session.read_reply(reader, bytes, now);
    }

    /// The last reply to the first part of the greeting; the second part is the script.
    void introduce(std::string_view bytes) {
        BOOST_TEST((reply(bytes) == action::send));
        BOOST_TEST(
            (greeting() == std::vector<test::command>{
                               {"SCRIPT", "LOAD", std::string{redis::check_script.body}},
                               {"SCRIPT", "LOAD", std::string{redis::permissions_script.body}},
                               {"EVALSHA", std::string{redis::permissions_script.sha1}, "0", ""}}));
    }

    /// Up to the point where replies to the greeting are expected.
    void open() {
        BOOST_TEST((session.start(now) == action::connect));
        BOOST_TEST((session.connected() == action::send));
        (void)greeting();
    }

    /// The replies to the second part, of which the last is this.
    action load(std::string_view permissions = allowed) {
        BOOST_TEST((reply(sha) == action::nothing));
        BOOST_TEST((reply(sha) == action::nothing));
        return reply(permissions);
    }

    /// The replies to the probe for transactions, of which the one to `command` is this.
    action probe(std::string_view command = "", std::string_view answer = "") {
        constexpr std::string_view aborted =
            "-EXECABORT Transaction discarded because of previous errors.\r\n";
        auto last = action::nothing;
        for (const auto& words : commands_of_probe) {
            BOOST_TEST((last == action::nothing));
            const auto has_key = words.size() > 1;
            last = reply(words[0] == command && (has_key || command != "ZADD") ? answer
                         : words[0] == "MULTI"                                 ? ok
                         : words[0] == "EXEC"                                  ? aborted
                         : has_key                                             ? "+QUEUED\r\n"
                                   : "-ERR wrong number of arguments for 'zadd' command\r\n");
        }
        return last;
    }

    void make_ready() {
        open();
        introduce(hello);
        BOOST_TEST((load() == action::serve));
    }

    redis::session session;
    std::int64_t now = 1'000'000;
};

} // namespace

/// A handler that ran for longer than `connect_timeout` is not the server's delay.
BOOST_AUTO_TEST_CASE(an_attempt_that_came_further_has_time_for_the_next_step) {
    auto c = connection{};
    (void)c.session.start(c.now);
    const auto end = c.session.wake_at().value();
    c.session.came_further(end - 500'000);
    BOOST_TEST(c.session.wake_at().value() == end); // there is enough left
    c.now = end + 300'000;
    c.session.came_further(c.now);
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST(!c.session.is_too_late(c.now));
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
    (void)c.greeting();
    c.now += 200'000;
    c.introduce(hello);
    BOOST_TEST(c.session.wake_at().value() == c.now + 250'000);
}

BOOST_AUTO_TEST_CASE(it_connects_greets_and_serves) {
    auto c = connection{};
    BOOST_TEST((c.session.state() == session_state::idle));
    BOOST_TEST(!c.session.wake_at().has_value());
    BOOST_TEST((c.session.start(c.now) == action::connect));
    BOOST_TEST((c.session.state() == session_state::connecting));
    BOOST_TEST(c.session.wake_at().value() == c.now + 1'000'000);
    BOOST_TEST((c.session.start(c.now) == action::nothing));
    BOOST_TEST((c.session.connected() == action::send));
    BOOST_TEST((c.session.state() == session_state::greeting));
    BOOST_TEST((c.greeting() == std::vector<test::command>{{"HELLO", "3"}}));
    c.introduce(hello);
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.state() == session_state::ready));
    BOOST_TEST(!c.session.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(credentials_and_database_are_part_of_the_greeting) {
    auto c = connection{{.user = "me", .password = "a b", .database = 7}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.greeting() ==
                std::vector<test::command>{{"HELLO", "3", "AUTH", "me", "a b"}, {"SELECT", "7"}}));
    BOOST_TEST((c.reply(hello) == action::nothing));
    c.introduce(ok);
    BOOST_TEST((c.load() == action::serve));
}

BOOST_AUTO_TEST_CASE(a_password_alone_is_that_of_the_default_user) {
    auto c = connection{{.user = "", .password = "secret"}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.greeting().at(0) == test::command{"HELLO", "3", "AUTH", "default", "secret"}));
}

BOOST_AUTO_TEST_CASE(resp2_is_greeted_without_a_hello) {
    auto plain = connection{{.user = "", .password = "", .protocol = 2}};
    (void)plain.session.start(plain.now);
    (void)plain.session.connected();
    BOOST_TEST((plain.greeting() == std::vector<test::command>{{"PING"}, {"INFO", "server"}}));
    BOOST_TEST((plain.reply("+PONG\r\n") == action::nothing));
    plain.introduce("-NOPERM this user has no permissions to run the 'info' command\r\n");
    BOOST_TEST((plain.load() == action::serve));

    auto c = connection{{.user = "me", .password = "pw", .database = 1, .protocol = 2}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.greeting() == std::vector<test::command>{
                                    {"AUTH", "me", "pw"}, {"SELECT", "1"}, {"INFO", "server"}}));
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_know_hello_is_greeted_again_in_resp2) {
    for (const std::string_view answer :
         {"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n",
          "-NOPROTO unsupported protocol version\r\n",
          "-ERR Protocol version is not an integer or out of range\r\n"}) {
        auto c = connection{{.user = "", .password = "pw"}};
        c.open();
        BOOST_TEST((c.reply(answer) == action::send));
        BOOST_TEST((c.session.state() == session_state::greeting));
        BOOST_TEST((c.greeting() ==
                    std::vector<test::command>{{"AUTH", "default", "pw"}, {"INFO", "server"}}));
        BOOST_TEST((c.reply(ok) == action::nothing));
        c.introduce("$0\r\n\r\n");
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(the_next_connection_is_tried_in_resp3_again) {
    auto c = connection{};
    c.open();
    (void)c.reply("-ERR unknown command 'HELLO'\r\n");
    (void)c.greeting();
    BOOST_TEST((c.reply("+PONG\r\n") == action::nothing));
    c.introduce("$0\r\n\r\n");
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    (void)c.session.connected();
    BOOST_TEST((c.greeting().at(0) == test::command{"HELLO", "3"}));
}

BOOST_AUTO_TEST_CASE(a_server_that_loads_its_data_is_greeted_again_on_the_same_connection) {
    for (const std::string_view answer :
         {loading, std::string_view{"-BUSY Redis is busy running a script.\r\n"},
          std::string_view{"-MASTERDOWN Link with MASTER is down\r\n"}}) {
        auto c = connection{};
        c.open();
        c.introduce(hello);
        for (auto i = 0; i < 3; ++i)
            BOOST_TEST((c.reply(answer) == action::nothing));
        BOOST_TEST((c.session.state() == session_state::waiting));
        BOOST_TEST((c.session.trouble() == errc::unavailable));
        const auto at = c.session.wake_at().value();
        BOOST_TEST(c.session.not_ready_before() == at);
        BOOST_TEST((c.session.wake(at - 1) == action::nothing));
        BOOST_TEST((c.session.wake(at) == action::send));
        (void)c.greeting();
        c.introduce(hello);
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(refused_credentials_are_a_distinct_trouble_and_tried_again_slowly) {
    for (const std::string_view answer :
         {wrongpass, std::string_view{"-NOAUTH HELLO must be called with the client already "
                                      "authenticated\r\n"}}) {
        auto c = connection{
            {.user = "", .password = "", .reconnect_least = 10, .reconnect_most = 1'000'000}};
        c.open();
        BOOST_TEST((c.reply(answer) == action::disconnect));
        BOOST_TEST((c.session.trouble() == errc::auth_failed));
        BOOST_TEST(c.session.not_ready_before() >= c.now + 500'000);
        // It stays so until a connection says otherwise.
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.trouble() == errc::auth_failed));
        (void)c.session.connected();
        (void)c.greeting();
        c.introduce(hello);
        BOOST_TEST((c.load() == action::serve));
        BOOST_TEST((c.session.lost(c.now) == action::disconnect));
        BOOST_TEST((c.session.trouble() == errc::unavailable));
    }
}

BOOST_AUTO_TEST_CASE(a_refused_database_or_script_is_an_error_of_the_server) {
    auto c = connection{{.user = "", .password = "", .database = 99}};
    c.open();
    (void)c.reply(hello);
    BOOST_TEST((c.reply("-ERR DB index is out of range\r\n") == action::disconnect));
    BOOST_TEST((c.session.trouble() == errc::server_error));
    BOOST_TEST(c.session.not_ready_before() >= c.now + 500'000);

    auto no_scripts = connection{};
    no_scripts.open();
    no_scripts.introduce(hello);
    const auto denied =
        std::string{"-NOPERM this user has no permissions to run the 'script|load' command\r\n"};
    BOOST_TEST((no_scripts.reply(denied) == action::nothing));
    BOOST_TEST((no_scripts.reply(denied) == action::nothing));
    BOOST_TEST((no_scripts.reply("-NOSCRIPT No matching script\r\n") == action::disconnect));
    BOOST_TEST((no_scripts.session.trouble() == errc::auth_failed));
    BOOST_TEST(no_scripts.session.not_ready_before() >= no_scripts.now + 500'000);
}

BOOST_AUTO_TEST_CASE(for_transactions_no_script_is_loaded_and_the_facts_of_the_server_are_asked) {
    auto c = connection{{.user = "", .password = "", .transactions = true}};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    auto expected = std::vector<test::command>{
        {"HELLO", "3"}, {"ECHO", "colimit"}, {"CLIENT", "ID"}, {"INFO", "server"}, {"TIME"}};
    expected.insert(expected.end(), commands_of_probe.begin(), commands_of_probe.end());
    BOOST_TEST((c.greeting() == expected));
    for (const std::string_view answer :
         {hello, std::string_view{"$7\r\ncolimit\r\n"}, std::string_view{":17\r\n"},
          std::string_view{"$53\r\n# Server\r\nrun_id:0123456789abcdef0123456789abcdef01\r\n\r\n"}})
        BOOST_TEST((c.reply(answer) == action::nothing));
    c.now += 250;
    BOOST_TEST((c.reply(time_of_2023) == action::nothing));
    c.now += 10;
    BOOST_TEST((c.probe() == action::serve));
    BOOST_TEST(c.session.facts().origin == "0123456789abcdef.17.");
    BOOST_TEST(c.session.facts().time == 1'700'000'000'000'012);
    BOOST_TEST(c.session.facts().asked == c.now - 260);
    BOOST_TEST(c.session.facts().answered == c.now - 10);
}

BOOST_AUTO_TEST_CASE(where_info_is_not_allowed_the_time_stands_for_the_run) {
    auto c = connection{{.user = "", .password = "", .protocol = 2, .transactions = true}};
    c.open();
    for (const std::string_view answer :
         {"$7\r\ncolimit\r\n", ":3\r\n", "-NOPERM this user has no permissions to run INFO\r\n"})
        BOOST_TEST((c.reply(answer) == action::nothing));
    BOOST_TEST((c.reply("*2\r\n$4\r\n1700\r\n$2\r\n12\r\n") == action::nothing));
    BOOST_TEST((c.probe() == action::serve));
    BOOST_TEST(c.session.facts().origin == "t1700000012.3.");
}

BOOST_AUTO_TEST_CASE(a_command_that_transactions_need_and_the_user_may_not_run_is_named) {
    struct log : redis::error_sink {
        void note(const redis::error_report& what) noexcept override { text = what.text; }
        std::string text;
    };
    const auto probe = [](std::string_view command, std::string_view answer) {
        auto c = connection{{.user = "", .password = "", .protocol = 2, .transactions = true}};
        auto errors = log{};
        c.session.report_to(errors);
        c.open();
        for (const auto fact : {std::string_view{"$7\r\ncolimit\r\n"}, std::string_view{":3\r\n"},
                                std::string_view{"$0\r\n\r\n"}, time_of_2023})
            (void)c.reply(fact);
        const auto end = c.probe(command, answer);
        BOOST_TEST((end == (errors.text.empty() ? action::serve : action::disconnect)));
        BOOST_TEST(
            (c.session.trouble() == (errors.text.empty() ? errc::unavailable : errc::auth_failed)));
        return errors.text + '|' + c.session.denied_commands();
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

BOOST_AUTO_TEST_CASE(a_key_that_the_user_may_not_access_is_reported_and_the_server_is_used) {
    struct log : redis::error_sink {
        void note(const redis::error_report& what) noexcept override {
            BOOST_TEST((what.code == errc::auth_failed));
            text = what.text;
        }
        void note_permitted(std::uint64_t /*policy*/) noexcept override {}
        std::string text;
    };
    for (const std::string why : {"this user has no permissions to access one of the keys used as "
                                  "arguments",
                                  "No permissions to access a key"}) {
        auto c = connection{{.user = "", .password = "", .protocol = 2, .transactions = true}};
        auto errors = log{};
        c.session.report_to(errors);
        c.open();
        for (const auto fact : {std::string_view{"$7\r\ncolimit\r\n"}, std::string_view{":3\r\n"},
                                std::string_view{"$0\r\n\r\n"}, time_of_2023})
            (void)c.reply(fact);
        BOOST_TEST((c.probe("ZADD", "-NOPERM " + why + "\r\n") == action::serve));
        BOOST_TEST(errors.text.starts_with("the user may not access the key"), errors.text);
        BOOST_TEST(c.session.denied_commands().empty());
    }
}

BOOST_AUTO_TEST_CASE(without_an_id_or_a_time_there_are_no_transactions) {
    for (const std::string_view id : {"-NOPERM no\r\n", "+OK\r\n", ":3\r\n"}) {
        auto c = connection{{.user = "", .password = "", .protocol = 2, .transactions = true}};
        c.open();
        (void)c.reply("$7\r\ncolimit\r\n");
        (void)c.reply(id);
        (void)c.reply("$0\r\n\r\n");
        (void)c.reply(id == ":3\r\n" ? "*0\r\n" : time_of_2023);
        BOOST_TEST((c.probe() == action::disconnect));
        const auto expected = id.starts_with("-NOPERM") ? errc::auth_failed : errc::server_error;
        BOOST_TEST((c.session.trouble() == expected));
    }
}

BOOST_AUTO_TEST_CASE(a_full_server_is_left_alone_for_the_longest_pause) {
    auto c = connection{
        {.user = "", .password = "", .reconnect_least = 10, .reconnect_most = 1'000'000}};
    c.open();
    (void)c.reply("-ERR max number of clients reached\r\n");
    BOOST_TEST((c.session.lost(c.now, redis::remedy::reconnect_late) == action::disconnect));
    BOOST_TEST((c.session.trouble() == errc::unavailable));
    BOOST_TEST(c.session.not_ready_before() >= c.now + 500'000);
}

BOOST_AUTO_TEST_CASE(pushes_while_greeting_answer_nothing) {
    auto c = connection{};
    c.open();
    BOOST_TEST((c.reply(">1\r\n$3\r\nfoo\r\n") == action::nothing));
    c.introduce(hello);
    BOOST_TEST((c.reply(">1\r\n$3\r\nfoo\r\n") == action::nothing));
    BOOST_TEST((c.load() == action::serve));
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_asked_for_ends_the_connection) {
    auto c = connection{};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    BOOST_TEST((c.reply(ok) == action::disconnect));
    BOOST_TEST((c.session.state() == session_state::waiting));
}

BOOST_AUTO_TEST_CASE(connecting_and_greeting_share_one_time_out) {
    auto connecting = connection{{.user = "", .password = "", .connect_timeout = 5'000}};
    (void)connecting.session.start(connecting.now);
    BOOST_TEST((connecting.session.wake(connecting.now + 4'999) == action::nothing));
    BOOST_TEST((connecting.session.wake(connecting.now + 5'000) == action::disconnect));

    auto greeting = connection{{.user = "", .password = "", .connect_timeout = 5'000}};
    greeting.open();
    (void)greeting.reply(hello);
    BOOST_TEST(greeting.session.wake_at().value() == greeting.now + 5'000);
    BOOST_TEST((greeting.session.wake(greeting.now + 5'000) == action::disconnect));
    BOOST_TEST((greeting.session.state() == session_state::waiting));
    BOOST_TEST((greeting.session.trouble() == errc::unavailable));
}

BOOST_AUTO_TEST_CASE(a_new_greeting_on_the_same_connection_has_a_time_out_of_its_own) {
    auto c = connection{{.user = "", .password = "", .connect_timeout = 5'000}};
    c.open();
    c.introduce(hello);
    (void)c.load(loading);
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::send));
    BOOST_TEST(c.session.wake_at().value() == c.now + 5'000);
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_longest_and_are_jittered_between_half_and_all) {
    auto pauses = std::set<std::int64_t>{};
    auto random = std::mt19937{1};
    for (int client = 0; client < 200; ++client) {
        const auto seed = static_cast<std::uint32_t>(random());
        auto c = connection{{.user = "",
                             .password = "",
                             .reconnect_least = 1'000,
                             .reconnect_most = 6'000,
                             .seed = seed}};
        (void)c.session.start(c.now);
        for (const auto length : {1'000, 2'000, 4'000, 6'000, 6'000}) {
            BOOST_TEST((c.session.lost(c.now) == action::disconnect));
            const auto pause = c.session.wake_at().value() - c.now;
            BOOST_TEST(pause >= length / 2);
            BOOST_TEST(pause <= length);
            if (length == 1'000)
                pauses.insert(pause);
            c.now += pause;
            BOOST_TEST((c.session.wake(c.now) == action::connect));
        }
    }
    BOOST_TEST(pauses.size() > 50U); // many clients do not come back at one instant
    BOOST_TEST(*pauses.begin() < 600);
    BOOST_TEST(*pauses.rbegin() > 900);
}

BOOST_AUTO_TEST_CASE(a_call_that_was_served_ends_the_growth_of_pauses_and_a_greeting_does_not) {
    auto c = connection{
        {.user = "", .password = "", .reconnect_least = 1'000, .reconnect_most = 1'000'000}};
    (void)c.session.start(c.now);
    const auto greet_and_lose = [&c](bool serves) {
        (void)c.session.connected();
        (void)c.greeting();
        c.introduce(hello);
        BOOST_TEST((c.load() == action::serve));
        if (serves)
            c.session.served();
        (void)c.session.lost(c.now);
        const auto pause = c.session.wake_at().value() - c.now;
        c.now += pause;
        (void)c.session.wake(c.now);
        return pause;
    };
    for (int i = 0; i < 8; ++i)
        (void)greet_and_lose(false);
    BOOST_TEST(greet_and_lose(false) >= 64'000);
    BOOST_TEST(greet_and_lose(true) <= 1'000);
    BOOST_TEST(greet_and_lose(false) <= 2'000);
}

BOOST_AUTO_TEST_CASE(a_ready_connection_that_is_lost_is_made_again) {
    auto c = connection{};
    c.make_ready();
    BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    BOOST_TEST((c.session.state() == session_state::waiting));
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::connect));
    BOOST_TEST(c.session.not_ready_before() <= c.now);
}

BOOST_AUTO_TEST_CASE(closed_is_for_good) {
    auto c = connection{};
    c.make_ready();
    c.session.close();
    BOOST_TEST((c.session.state() == session_state::closed));
    BOOST_TEST((c.session.lost(c.now) == action::nothing));
    BOOST_TEST((c.session.start(c.now) == action::nothing));
    BOOST_TEST((c.session.wake(c.now + 100'000'000) == action::nothing));
    BOOST_TEST(!c.session.wake_at().has_value());
}

BOOST_AUTO_TEST_CASE(who_is_refused_by_tls_waits_long_and_says_why) {
    for (const auto refusal : {errc::untrusted_server, errc::auth_failed}) {
        auto c = connection{};
        BOOST_TEST((c.session.start(c.now) == action::connect));
        BOOST_TEST((c.session.lost(c.now, make_error_code(refusal)) == action::disconnect));
        BOOST_TEST((c.session.trouble() == refusal));
        BOOST_TEST(c.session.is_refused());
        BOOST_TEST(c.session.not_ready_before() >= c.now + 500'000);
        // What is heard of the next attempt counts.
        c.now = c.session.not_ready_before();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST(
            (c.session.lost(c.now, make_error_code(errc::unavailable)) == action::disconnect));
        BOOST_TEST(!c.session.is_refused());
    }
}

// Permissions

namespace {

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
        auto c = connection{};
        c.open();
        c.introduce(hello);
        BOOST_TEST((c.load(reply) == action::disconnect));
        BOOST_TEST((c.session.trouble() == errc::auth_failed));
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
        auto c = connection{};
        c.open();
        c.introduce(hello);
        BOOST_TEST((c.load(reply) == action::serve));
        BOOST_TEST(c.session.denied_commands() ==
                   (reply.find("PFADD") == std::string::npos ? "" : "HSET PFADD"));
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_serves_when_it_is_writable) {
    auto c = connection{};
    c.make_ready();
    BOOST_TEST((c.session.lost(c.now, redis::remedy::leave_read_only) == action::disconnect));
    for (const auto is_writable : {false, false, true}) {
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        (void)c.greeting();
        c.introduce(hello);
        BOOST_TEST((c.load(permissions("", "", is_writable ? "" : read_only)) ==
                    (is_writable ? action::serve : action::disconnect)));
        BOOST_TEST((c.session.trouble() == errc::unavailable));
    }
}

// Servers that are not Redis

BOOST_AUTO_TEST_CASE(the_first_reply_tells_a_stranger_and_a_later_one_does_not) {
    for (const std::string_view bytes : {"HTTP/1.1 400 Bad Request\r\n", "\x15\x03\x01", "220 x"}) {
        auto c = connection{};
        c.open();
        BOOST_TEST((c.session.read_garbage(c.now, bytes) == action::disconnect));
        BOOST_TEST((c.session.trouble() == errc::bad_reply));
        BOOST_TEST(c.session.is_refused());
    }
    auto popular = connection{};
    popular.open();
    BOOST_TEST((popular.reply("+OK POP3 ready\r\n") == action::disconnect));
    BOOST_TEST((popular.session.trouble() == errc::bad_reply));

    auto known = connection{};
    known.open();
    known.introduce(hello);
    BOOST_TEST((known.session.read_garbage(known.now, "HTTP/1.1 400\r\n") == action::disconnect));
    BOOST_TEST((known.session.trouble() == errc::unavailable));
}

BOOST_AUTO_TEST_CASE(a_port_that_closes_silently_is_asked_for_tls_until_it_has_been_ready) {
    const auto is_hello = [](std::string_view sent) { return sent.starts_with("\x16\x03\x01"); };
    const auto next = [](connection& c) {
        auto out = std::string{};
        c.now = c.session.wake_at().value();
        BOOST_TEST((c.session.wake(c.now) == action::connect));
        BOOST_TEST((c.session.connected() == action::send));
        c.session.greeting(out);
        return out;
    };
    const auto reset =
        error_code{boost::system::errc::connection_reset, boost::system::generic_category()};
    auto c = connection{{.user = "", .password = "", .plain_tcp = true}};
    c.open();
    for (auto i = 0; i < 2; ++i) { // as a server does that is starting
        BOOST_TEST((c.session.lost(c.now, reset) == action::disconnect));
        BOOST_TEST(!is_hello(next(c)));
    }
    BOOST_TEST((c.session.lost(c.now, reset) == action::disconnect));
    BOOST_TEST(is_hello(next(c)));
    // It speaks TLS, and is asked in this way until that ends.
    BOOST_TEST((c.session.read_garbage(c.now, "\x15\x03\x01") == action::disconnect));
    BOOST_TEST((c.session.trouble() == errc::bad_reply));
    BOOST_TEST(is_hello(next(c)));
    BOOST_TEST((c.session.lost(c.now, reset) == action::disconnect));
    BOOST_TEST((c.session.trouble() == errc::unavailable));

    // A plain server does not reply, which is no problem to report and is not tried again soon.
    auto plain = connection{{.user = "", .password = "", .plain_tcp = true}};
    plain.open();
    for (auto questions = 0, losses = 1; losses <= 19; ++losses) {
        BOOST_TEST((plain.session.lost(plain.now, reset) == action::disconnect));
        if (is_hello(next(plain))) {
            BOOST_TEST(losses == (questions++ == 0 ? 3 : 18));
            BOOST_TEST(plain.session.wake_at().value() == plain.now + 250'000);
            plain.now += 250'000;
            BOOST_TEST(!plain.session.is_too_late(plain.now));
            BOOST_TEST((plain.session.wake(plain.now) == action::disconnect));
            BOOST_TEST(!is_hello(next(plain)));
        }
        BOOST_TEST(questions == (losses < 3 ? 0 : losses < 18 ? 1 : 2));
    }

    auto silent =
        connection{{.user = "", .password = "", .plain_tcp = true}}; // a timeout is no reason
    silent.open();
    silent.now += 1'000'000;
    BOOST_TEST((silent.session.wake(silent.now) == action::disconnect));
    BOOST_TEST(!is_hello(next(silent)));

    auto known = connection{{.user = "", .password = "", .plain_tcp = true}};
    known.make_ready();
    BOOST_TEST((known.session.lost(known.now, reset) == action::disconnect));
    (void)next(known);
    BOOST_TEST((known.session.lost(known.now, reset) == action::disconnect));
    BOOST_TEST(!is_hello(next(known)));
}

BOOST_AUTO_TEST_CASE(a_refusal_is_kept_when_the_server_closes_before_its_other_replies) {
    auto c = connection{{.user = "", .password = "", .database = 3}};
    c.open();
    BOOST_TEST((c.reply("-DENIED Redis is running in protected mode\r\n") == action::nothing));
    const auto end =
        error_code{boost::system::errc::connection_reset, boost::system::generic_category()};
    BOOST_TEST((c.session.lost(c.now, end) == action::disconnect));
    BOOST_TEST((c.session.trouble() == errc::auth_failed));
}

BOOST_AUTO_TEST_CASE(a_cluster_is_told_by_hello_or_by_info) {
    auto c = connection{};
    c.open();
    c.introduce("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$4\r\nmode\r\n$7\r\ncluster\r\n");
    BOOST_TEST(c.session.facts().is_cluster);
    auto alone = connection{};
    alone.open();
    alone.introduce("%2\r\n$6\r\nserver\r\n$7\r\ncluster\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n");
    BOOST_TEST(!alone.session.facts().is_cluster);
    auto old = connection{{.user = "", .password = "", .protocol = 2}};
    old.open();
    BOOST_TEST((old.reply("+PONG\r\n") == action::nothing));
    old.introduce("$30\r\n# Server\r\nredis_mode:cluster\r\n\r\n");
    BOOST_TEST(old.session.facts().is_cluster);
}

BOOST_AUTO_TEST_SUITE_END()

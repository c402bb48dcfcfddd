// SPDX-License-Identifier: BSL-1.0
//
// The handshake asks for the server module before it loads scripts, and goes on as the reply says.

#include <core/wire_version.hpp>
#include <support/module_replies.hpp>
#include <support/session_bench.hpp>
#include <support/unit_test.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(session_modules)

namespace {

using namespace colimit;
using redis::action;
using redis::module_state;
using test::hello_reply;
using test::module_denied;
using test::module_reply;
using test::unknown_command;

constexpr std::string_view read_only = "-READONLY You can't write against a read only replica.\r\n";
constexpr std::string_view no_script =
    "-NOPERM this user has no permissions to run the 'script|load' command\r\n";

struct session_bench : test::session_bench {
    explicit session_bench(module_use use = module_use::if_available,
                           redis::script_command command = redis::script_command::evalsha)
        : test::session_bench({.user = "", .command = command, .server_module = use}) {
        session.report_to(errors);
    }

    /// Until the reply to the question is expected.
    void ask() {
        BOOST_TEST((session.connected() == action::send));
        BOOST_TEST(
            (handshake() == std::vector<test::command>{{"HELLO", "3"}, {"COLIMIT.CHECK", "0"}}));
        BOOST_TEST((reply(hello_reply) == action::nothing));
    }

    void begin() {
        BOOST_TEST((session.start(now) == action::connect));
        ask();
    }

    /// Replies to the second part with this error, each command.
    action refuse_scripts(std::string_view error) {
        (void)handshake();
        (void)reply(error);
        (void)reply(error);
        return reply(error);
    }

    void connect_again() {
        now = session.wake_at().value();
        BOOST_TEST((session.wake(now) == action::connect));
        ask();
    }

    void check_refusal(std::string_view answer, errc code, std::string_view text) {
        BOOST_TEST((reply(answer) == action::disconnect));
        BOOST_TEST((session.error() == code));
        BOOST_TEST(errors.text.find(text) != std::string::npos, errors.text);
        BOOST_TEST(session.wake_at().value() >= now + 750'000); // half of the longest pause
        connect_again();
        BOOST_TEST((reply(module_reply()) == action::serve));
        BOOST_TEST(!session.is_refused());
    }

    test::reports errors;
};

} // namespace

BOOST_AUTO_TEST_CASE(with_the_module_nothing_is_loaded_and_no_permission_is_tested) {
    for (const auto command : {redis::script_command::evalsha, redis::script_command::fcall})
        for (const auto use : {module_use::if_available, module_use::required}) {
            auto c = session_bench{use, command};
            c.begin();
            BOOST_TEST((c.reply(module_reply()) == action::serve));
            BOOST_TEST((c.session.facts().server_module == module_state::usable));
            BOOST_TEST(c.session.script_loads() == 0U);
            BOOST_TEST(c.errors.codes.empty());
        }
}

BOOST_AUTO_TEST_CASE(without_the_module_scripts_are_loaded_and_nothing_is_reported) {
    auto c = session_bench{};
    c.begin();
    c.introduce(unknown_command);
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.facts().server_module == module_state::absent));
    BOOST_TEST(c.errors.codes.empty());
}

BOOST_AUTO_TEST_CASE(servers_that_refuse_unknown_commands_in_other_words_have_no_module) {
    for (const std::string_view answer :
         {"-ERR unsupported command 'COLIMIT.CHECK'\r\n", "-unknown command\r\n",
          "-ERR wrong number of arguments for 'colimit.check' command\r\n"}) {
        auto c = session_bench{};
        c.begin();
        c.introduce(answer);
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(a_server_is_not_asked_if_the_module_is_not_used) {
    const auto is_asked = [](redis::session_settings s) {
        auto c = test::session_bench{std::move(s)};
        (void)c.session.start(c.now);
        (void)c.session.connected();
        for (const auto& words : c.handshake())
            if (words.at(0) == "COLIMIT.CHECK")
                return true;
        return false;
    };
    const auto use = module_use::if_available;
    BOOST_TEST(is_asked({.server_module = use}));
    BOOST_TEST(is_asked({.role = redis::server_role::node, .server_module = use}));
    BOOST_TEST(is_asked({.protocol = 2, .server_module = use}));
    BOOST_TEST(!is_asked({.server_module = module_use::never}));
    BOOST_TEST(!is_asked({.transactions = true, .server_module = use}));
    BOOST_TEST(!is_asked({.server_module = use, .executes_calls = false}));
}

BOOST_AUTO_TEST_CASE(a_module_that_may_not_be_used_is_reported_and_scripts_are_loaded) {
    struct {
        std::string answer;
        errc code;
        std::string text;
        module_state state;
    } const cases[] = {
        {std::string{module_denied}, errc::auth_failed, "run the 'colimit.check' command",
         module_state::denied},
        {module_reply(core::wire_version + 1), errc::invalid_config,
         "the server module has another wire version (got 2 of module 1.2.3, expected 1)",
         module_state::incompatible},
        {"*3\r\n$7\r\ncolimit\r\n$1\r\n1\r\n$5\r\n1.2.3\r\n", errc::invalid_config, "got 1 of",
         module_state::incompatible}, // not an integer
        {"*0\r\n", errc::invalid_config, "got none", module_state::incompatible},
        {"+OK\r\n", errc::invalid_config, "got none", module_state::incompatible}};
    for (const auto& [answer, code, text, state] : cases) {
        auto c = session_bench{};
        c.begin();
        c.introduce(answer);
        BOOST_TEST((c.session.facts().server_module == state));
        BOOST_TEST((c.errors.codes == std::vector{code}));
        BOOST_TEST(c.errors.text.find(text) != std::string::npos, c.errors.text);
        BOOST_TEST((c.load() == action::serve));
    }
}

BOOST_AUTO_TEST_CASE(a_required_module_that_may_not_be_used_refuses_the_server_until_it_may) {
    session_bench bench[] = {
        session_bench{module_use::required}, session_bench{module_use::required},
        session_bench{module_use::required}, session_bench{module_use::required}};
    for (auto& c : bench)
        c.begin();
    bench[0].check_refusal(unknown_command, errc::invalid_config,
                           "config::server_module is required, but the server lacks the module: "
                           "load colimit.so with MODULE LOAD; it replied:");
    bench[1].check_refusal(module_denied, errc::auth_failed, "run the 'colimit.check' command");
    bench[2].check_refusal(module_reply(core::wire_version + 1), errc::invalid_config,
                           "got 2 of module 1.2.3, expected 1");
    bench[3].check_refusal(read_only, errc::unavailable, "READONLY");
}

/// Denied calls and peeks work on it with a script, which need not be so with the module.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_writes_gets_scripts) {
    for (const std::string_view answer :
         {read_only, std::string_view{"-MISCONF Redis is configured to save RDB snapshots\r\n"},
          std::string_view{"-NOREPLICAS Not enough good replicas to write.\r\n"}}) {
        auto c = session_bench{};
        c.begin();
        c.introduce(answer);
        BOOST_TEST((c.load() == action::serve));
        BOOST_TEST((c.session.facts().server_module == module_state::withheld));
        BOOST_TEST(c.errors.codes.empty());
    }
}

/// Its user may have the module's permissions only: what it lacks is a server that accepts writes.
BOOST_AUTO_TEST_CASE(
    a_server_that_refuses_writes_and_scripts_is_unavailable_until_it_accepts_them) {
    auto c = session_bench{};
    c.begin();
    BOOST_TEST((c.reply(read_only) == action::send));
    BOOST_TEST((c.refuse_scripts(no_script) == action::disconnect));
    BOOST_TEST((c.session.error() == errc::unavailable));
    BOOST_TEST(c.errors.text.starts_with("READONLY"));
    c.connect_again();
    BOOST_TEST((c.reply(unknown_command) == action::send));
    BOOST_TEST((c.refuse_scripts(no_script) == action::disconnect));
    BOOST_TEST((c.session.error() == errc::auth_failed)); // now that is what it lacks
    c.connect_again();
    BOOST_TEST((c.reply(module_reply()) == action::serve));
}

/// The question is a command that may write.
BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_is_writable_if_it_has_the_module) {
    auto c = session_bench{};
    c.begin();
    BOOST_TEST((c.reply(module_reply()) == action::serve));
    BOOST_TEST((c.session.lost(c.now, redis::recovery::leave_read_only) == action::disconnect));
    c.connect_again();
    BOOST_TEST((c.reply(module_reply()) == action::serve));
    // So a later server that is read-only serves peeks.
    BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    c.connect_again();
    c.introduce(unknown_command);
    auto permissions = std::string{};
    redis::resp::append_command(permissions, {"", "", read_only.substr(1, read_only.size() - 3)});
    BOOST_TEST((c.load(permissions) == action::serve));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_loading_is_asked_again_on_the_same_connection) {
    auto c = session_bench{};
    c.begin();
    BOOST_TEST((c.reply(test::loading) == action::nothing));
    BOOST_TEST((c.session.state() == redis::session_state::waiting));
    c.now = c.session.wake_at().value();
    BOOST_TEST((c.session.wake(c.now) == action::send));
    BOOST_TEST(
        (c.handshake() == std::vector<test::command>{{"HELLO", "3"}, {"COLIMIT.CHECK", "0"}}));
    (void)c.reply(hello_reply);
    BOOST_TEST((c.reply(module_reply()) == action::serve));
}

BOOST_AUTO_TEST_CASE(a_server_without_hello_is_asked_again_after_the_other_commands_of_resp2) {
    auto c = session_bench{module_use::required};
    (void)c.session.start(c.now);
    (void)c.session.connected();
    (void)c.handshake();
    (void)c.reply("-ERR unknown command 'HELLO'\r\n");
    BOOST_TEST((c.reply(unknown_command) == action::send));
    BOOST_TEST((c.handshake() ==
                std::vector<test::command>{{"PING"}, {"INFO", "server"}, {"COLIMIT.CHECK", "0"}}));
    (void)c.reply("+PONG\r\n");
    (void)c.reply("$0\r\n\r\n");
    BOOST_TEST((c.reply(module_reply()) == action::serve));
}

BOOST_AUTO_TEST_CASE(a_rejected_password_is_the_error_whatever_the_reply_to_the_question) {
    for (const auto use : {module_use::if_available, module_use::required})
        for (const std::string& answer : {std::string{"-NOAUTH Authentication required.\r\n"},
                                          std::string{unknown_command}, module_reply()}) {
            auto c = session_bench{use};
            (void)c.session.start(c.now);
            (void)c.session.connected();
            (void)c.handshake();
            (void)c.reply("-WRONGPASS invalid username-password pair\r\n");
            BOOST_TEST((c.reply(answer) == action::disconnect));
            BOOST_TEST((c.session.error() == errc::auth_failed));
            BOOST_TEST((c.errors.codes == std::vector{errc::auth_failed}));
        }
}

/// As after a failover: what the last server had says nothing about the next one.
BOOST_AUTO_TEST_CASE(each_connection_asks_for_itself) {
    auto c = session_bench{};
    c.begin();
    BOOST_TEST((c.reply(module_reply()) == action::serve));
    BOOST_TEST((c.session.lost(c.now) == action::disconnect));
    c.connect_again();
    c.introduce(unknown_command);
    BOOST_TEST((c.load() == action::serve));
    BOOST_TEST((c.session.facts().server_module == module_state::absent));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The handshake asks for the server module before it loads scripts, and goes on as the reply says.

#include <core/wire_version.hpp>
#include <support/module_replies.hpp>
#include <support/unit_test.hpp>
#include <unit/session_bench.hpp>

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
using test::read_only;
using test::unknown_command;

constexpr std::string_view no_script =
    "-NOPERM this user has no permissions to run the 'script|load' command\r\n";

struct session_bench : test::session_bench {
    explicit session_bench(module_use use = module_use::if_available,
                           redis::script_command command = redis::script_command::evalsha)
        : test::session_bench({.command = command, .server_module = use}) {
        open("HELLO 3; COLIMIT.CHECK 0");
        hear({hello_reply});
    }

    void connect_again() {
        open_again("HELLO 3; COLIMIT.CHECK 0");
        hear({hello_reply});
    }

    /// Replies that there is no module, or that it may not be used, and to each command of the
    /// second part that scripts are denied.
    void refuse_scripts(std::string_view answer, errc why) {
        introduce(answer);
        fail({no_script, no_script, no_script}, why);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(with_the_module_nothing_is_loaded_and_no_permission_is_tested) {
    for (const auto command : {redis::script_command::evalsha, redis::script_command::fcall})
        for (const auto use : {module_use::if_available, module_use::required}) {
            auto c = session_bench{use, command};
            c.hear({module_reply()}, action::serve);
            BOOST_TEST((c.session.facts().server_module == module_state::usable));
            BOOST_TEST(c.session.script_loads() == 0U);
            BOOST_TEST(c.errors.codes.empty());
        }
}

BOOST_AUTO_TEST_CASE(without_the_module_scripts_are_loaded_and_nothing_is_reported) {
    auto c = session_bench{};
    c.serve(unknown_command);
    BOOST_TEST((c.session.facts().server_module == module_state::absent));
    BOOST_TEST(c.errors.codes.empty());
}

BOOST_AUTO_TEST_CASE(servers_that_refuse_unknown_commands_in_other_words_have_no_module) {
    for (const std::string_view answer :
         {"-ERR unsupported command 'COLIMIT.CHECK'\r\n", "-unknown command\r\n",
          "-ERR wrong number of arguments for 'colimit.check' command\r\n"})
        session_bench{}.serve(answer);
}

BOOST_AUTO_TEST_CASE(a_server_is_not_asked_if_the_module_is_not_used) {
    const auto is_asked = [](redis::session_settings s) {
        auto c = test::session_bench{std::move(s)};
        (void)c.session.start(c.now);
        (void)c.session.connected();
        return c.sent().find("; COLIMIT.CHECK 0") != std::string::npos;
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
        c.introduce(answer);
        BOOST_TEST((c.session.facts().server_module == state));
        BOOST_TEST((c.errors.codes == std::vector{code}));
        BOOST_TEST(c.errors.text.find(text) != std::string::npos, c.errors.text);
        c.load();
    }
}

BOOST_AUTO_TEST_CASE(a_required_module_that_may_not_be_used_refuses_the_server_until_it_may) {
    const auto check_refusal = [](std::string_view answer, errc why, std::string_view report) {
        auto c = session_bench{module_use::required};
        c.fail({answer}, why, report);
        BOOST_TEST(c.session.wake_at().value() >= c.now + 750'000); // half of the longest pause
        c.connect_again();
        c.hear({module_reply()}, action::serve);
        BOOST_TEST(!c.session.is_refused());
    };
    check_refusal(unknown_command, errc::invalid_config,
                  "*config::advanced.server_module is required, but the server lacks the module: "
                  "load colimit.so with MODULE LOAD; it replied:");
    check_refusal(module_denied, errc::auth_failed, "*run the 'colimit.check' command");
    check_refusal(module_reply(core::wire_version + 1), errc::invalid_config,
                  "*got 2 of module 1.2.3, expected 1");
    check_refusal(read_only, errc::unavailable, "*READONLY");
}

/// Denied calls and peeks work on it with a script, which need not be so with the module.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_writes_gets_scripts) {
    for (const std::string_view answer :
         {read_only, std::string_view{"-MISCONF Redis is configured to save RDB snapshots\r\n"},
          std::string_view{"-NOREPLICAS Not enough good replicas to write.\r\n"}}) {
        auto c = session_bench{};
        c.serve(answer);
        BOOST_TEST((c.session.facts().server_module == module_state::withheld));
        BOOST_TEST(c.errors.codes.empty());
    }
}

/// Its user may have the module's permissions only: what it lacks is a server that accepts writes.
BOOST_AUTO_TEST_CASE(
    a_server_that_refuses_writes_and_scripts_is_unavailable_until_it_accepts_them) {
    auto c = session_bench{};
    c.refuse_scripts(read_only, errc::unavailable);
    BOOST_TEST(c.errors.text.starts_with("READONLY"));
    c.connect_again();
    c.refuse_scripts(unknown_command, errc::auth_failed); // now that is what it lacks
    c.connect_again();
    c.hear({module_reply()}, action::serve);
}

/// The question is a command that may write.
BOOST_AUTO_TEST_CASE(a_server_that_a_call_found_read_only_is_writable_if_it_has_the_module) {
    auto c = session_bench{};
    c.hear({module_reply()}, action::serve);
    c.lose(redis::recovery::leave_read_only);
    c.connect_again();
    c.hear({module_reply()}, action::serve);
    // So a later server that is read-only serves peeks.
    c.lose();
    c.connect_again();
    c.introduce(unknown_command);
    c.load(test::permissions("", "", read_only.substr(1, read_only.size() - 3)));
}

BOOST_AUTO_TEST_CASE(a_server_that_is_loading_is_asked_again_on_the_same_connection) {
    auto c = session_bench{};
    c.hear({test::loading});
    BOOST_TEST((c.session.state() == redis::session_state::waiting));
    BOOST_TEST((c.wait() == action::send));
    BOOST_TEST(c.sent() == "HELLO 3; COLIMIT.CHECK 0");
    c.hear({hello_reply, module_reply()}, action::serve);
}

BOOST_AUTO_TEST_CASE(a_server_without_hello_is_asked_again_after_the_other_commands_of_resp2) {
    auto c = test::session_bench{{.server_module = module_use::required}};
    c.open();
    c.hear({test::no_hello, unknown_command}, action::send);
    BOOST_TEST(c.sent() == "PING; INFO server; COLIMIT.CHECK 0");
    c.hear({test::pong, "$0\r\n\r\n", module_reply()}, action::serve);
}

BOOST_AUTO_TEST_CASE(a_rejected_password_is_the_error_whatever_the_reply_to_the_question) {
    for (const auto use : {module_use::if_available, module_use::required})
        for (const std::string& answer : {std::string{"-NOAUTH Authentication required.\r\n"},
                                          std::string{unknown_command}, module_reply()}) {
            auto c = test::session_bench{{.server_module = use}};
            c.open();
            c.fail({test::wrong_password, answer}, errc::auth_failed);
            BOOST_TEST(c.errors.codes.size() == 1U);
        }
}

/// As after a failover: what the last server had says nothing about the next one.
BOOST_AUTO_TEST_CASE(each_connection_asks_for_itself) {
    auto c = session_bench{};
    c.hear({module_reply()}, action::serve);
    c.lose();
    c.connect_again();
    c.serve(unknown_command);
    BOOST_TEST((c.session.facts().server_module == module_state::absent));
}

BOOST_AUTO_TEST_SUITE_END()

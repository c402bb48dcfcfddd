// SPDX-License-Identifier: BSL-1.0
//
// The queue and the server module: batches in the form that the server takes, batches that it has
// not executed, and the question that brings the module back.

#include <colimit/bloom_filter.hpp>
#include <core/wire_version.hpp>
#include <support/module_replies.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(script_queue_module)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using redis::module_state;
using redis::recovery;
using redis::script_command;
using test::module_denied;
using test::module_reply;
using test::noscript;
using test::unknown_command;

const auto rules = policy{"p", gcra(100, 1s)};
const auto filter = bloom_filter{"ids", {.capacity = 1'000, .ttl = 1h}};
constexpr auto first_pause = redis::module_route::first_pause;
constexpr auto longest_pause = redis::module_route::longest_pause;

constexpr std::string_view seen_denied =
    "-NOPERM User app has no permissions to run the 'colimit.seen' command\r\n";

struct error_log : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        codes.push_back(what.code);
        texts.emplace_back(what.text);
    }
    std::vector<errc> codes;
    std::vector<std::string> texts;
};

struct fixture : test::script_queue_bench {
    explicit fixture(module_use use = module_use::if_available,
                     script_command command = script_command::evalsha)
        : script_queue_bench({.prefix = "t",
                              .batch_size = 2,
                              .batches_in_flight = 3,
                              .command = command,
                              .server_module = use}) {
        queue.report_to(errors);
        connect(module_state::usable);
    }

    void connect(module_state found) {
        queue.begin_connection({.server_module = found, .origin = {}});
    }

    test::fake_operation& ask(std::string_view key) {
        auto& op = ops.emplace_back();
        BOOST_REQUIRE(!submit(op, key, rules));
        return op;
    }

    test::fake_operation& ask_for_id() {
        auto& op = ops.emplace_back(detail::make_lookup(detail::verb::allow, {}));
        BOOST_REQUIRE(!queue.submit(op, "0", detail::access::data(filter)));
        return op;
    }

    std::vector<test::command> write() {
        auto out = std::string{};
        queue.write(out, position, now);
        position += out.size();
        return test::commands_of(std::move(out));
    }

    /// Returns the first words of what is written now.
    std::vector<std::string> forms() {
        auto first = std::vector<std::string>{};
        for (const auto& words : write())
            first.push_back(words[0] == "COLIMIT.CHECK" && words.size() == 2 ? "question"
                                                                             : words[0]);
        return first;
    }

    /// The queue knows that the module is missing, and when it asks next.
    void lose_module() {
        connect(module_state::absent);
        ask("early");
        BOOST_TEST((forms() == std::vector<std::string>{"EVALSHA"}));
    }

    /// Three times the server replies so to the question for the module that it lacked.
    void find_module(std::string_view answer) {
        lose_module();
        (void)reply("-ERR gone\r\n");
        errors.codes.clear();
        for (auto i = 0; i < 3; ++i) {
            now += redis::module_route::longest_pause;
            ask("a");
            const auto sent = write();
            BOOST_REQUIRE(sent.size() == 2U);
            (void)reply(answer);
            (void)reply(server.answer(sent[1]));
        }
    }

    std::int64_t now = 1'000'000;
    error_log errors;
    std::deque<test::fake_operation> ops;
    test::script_double server{rules};
};

using names = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_CASE(batches_are_commands_of_the_module_and_counted, fixture) {
    auto& first = ask("a");
    auto& second = ask("b");
    const auto sent = write();
    BOOST_REQUIRE(sent.size() == 1U);
    BOOST_TEST(sent[0][0] == "COLIMIT.CHECK");
    BOOST_TEST((reply(server.answer(sent[0])) == recovery::keep));
    BOOST_TEST(first.is_allowed());
    BOOST_TEST(second.is_allowed());
    BOOST_TEST(queue.counted.module_calls == 2U);
    BOOST_TEST(queue.counted.calls == 2U);
    BOOST_TEST(queue.uses_module());
    ask_for_id();
    BOOST_TEST((forms() == names{"COLIMIT.SEEN"}));
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_not_to_use_the_module_neither_uses_it_nor_asks) {
    auto f = fixture{module_use::never};
    f.connect(module_state::absent);
    for (auto i = 0; i < 3; ++i) {
        f.ask("a");
        BOOST_TEST((f.forms() == names{"EVALSHA"}));
        f.now += longest_pause;
    }
    BOOST_TEST(!f.queue.uses_module());
    BOOST_TEST(f.queue.counted.module_calls == 0U);
}

/// In order, each once: NOSCRIPT is the usual error then, as the handshake has loaded nothing.
BOOST_FIXTURE_TEST_CASE(batches_of_an_unloaded_module_are_repeated_with_the_script, fixture) {
    ask("a");
    ask("b");
    ask("c");
    BOOST_TEST((forms() == names{"COLIMIT.CHECK", "COLIMIT.CHECK"}));
    BOOST_TEST((reply(unknown_command) == recovery::resend_with_script));
    BOOST_TEST((reply(unknown_command) == recovery::resend_with_script));
    BOOST_TEST(!queue.uses_module());
    auto sent = write();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(sent[0][0] == "EVALSHA");
    BOOST_TEST(test::script_call{sent[0]}.keys.size() == 2U);
    BOOST_TEST(test::script_call{sent[1]}.keys.size() == 1U);
    BOOST_TEST((reply(noscript) == recovery::resend_with_script));
    BOOST_TEST((reply(server.answer(sent[1])) == recovery::keep));
    sent = write();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(sent[0][0] == "SCRIPT");
    BOOST_TEST(sent[1][0] == "EVAL");
    (void)reply(test::load_reply);
    BOOST_TEST((reply(server.answer(sent[1])) == recovery::keep));
    for (auto& op : ops)
        BOOST_TEST(op.is_allowed());
    BOOST_TEST(errors.codes.empty());
    BOOST_TEST(queue.counted.script_loads == 1U);
    BOOST_TEST((forms() == names{}));
}

BOOST_AUTO_TEST_CASE(batches_of_an_unloaded_module_are_repeated_as_functions_if_scripts_are_those) {
    auto f = fixture{module_use::if_available, script_command::fcall};
    auto& op = f.ask("a");
    (void)f.write();
    BOOST_TEST((f.reply(unknown_command) == recovery::resend_with_script));
    auto sent = f.write();
    BOOST_TEST(sent.at(0)[0] == "FCALL");
    BOOST_TEST(sent.at(0)[1] == redis::check_script.function);
    BOOST_TEST((f.reply("-OOM command not allowed\r\n") == recovery::resend_with_script));
    sent = f.write();
    BOOST_TEST(sent.at(0)[1] == redis::check_script.function_if_full);
    BOOST_TEST((f.reply(f.server.answer(sent.at(0))) == recovery::keep));
    BOOST_TEST(op.is_allowed());
}

/// The module decides what a full server can decide, and a batch that it refuses is not repeated.
BOOST_AUTO_TEST_CASE(other_errors_of_the_module_end_its_batch) {
    for (const auto command : {script_command::evalsha, script_command::fcall})
        for (const auto& [text, code] :
             {std::pair{"-OOM command not allowed\r\n", errc::server_error},
              std::pair{"-NOSCRIPT No matching script.\r\n", errc::unavailable},
              std::pair{"-NOPERM No permissions to access a key\r\n", errc::auth_failed},
              std::pair{"-MISCONF Redis is configured to save\r\n", errc::server_error}}) {
            auto f = fixture{module_use::if_available, command};
            auto& op = f.ask("a");
            (void)f.write();
            (void)f.reply(text);
            BOOST_TEST(op.ended(code), text);
            BOOST_TEST((f.forms() == names{}));
            BOOST_TEST(f.queue.uses_module());
        }
}

BOOST_FIXTURE_TEST_CASE(a_missing_module_is_asked_for_before_batches_after_pauses_that_double,
                        fixture) {
    lose_module();
    (void)reply("-ERR gone\r\n");
    for (auto pause = first_pause; pause < 3 * longest_pause; pause *= 2) {
        const auto length = std::min(pause, longest_pause);
        now += length - 1;
        ask("a");
        BOOST_TEST((forms() == names{"EVALSHA"}));
        (void)reply("-ERR gone\r\n");
        ++now;
        ask("b");
        BOOST_TEST((forms() == names{"question", "EVALSHA"}));
        BOOST_TEST((reply(unknown_command) == recovery::keep));
        (void)reply("-ERR gone\r\n");
    }
    for (const auto code : errors.codes) // the replies to batches
        BOOST_TEST((code == errc::server_error));
}

BOOST_FIXTURE_TEST_CASE(a_module_that_was_loaded_is_used_from_the_next_batch_on, fixture) {
    lose_module();
    (void)reply("-ERR gone\r\n");
    now += first_pause;
    auto& op = ask("a");
    const auto sent = write();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST((reply(module_reply()) == recovery::keep));
    BOOST_TEST(op.is_held);
    BOOST_TEST((reply(server.answer(sent[1])) == recovery::keep));
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(queue.uses_module());
    now += first_pause;
    ask("b");
    BOOST_TEST((forms() == names{"COLIMIT.CHECK"}));
}

BOOST_FIXTURE_TEST_CASE(the_question_comes_before_the_script_and_asking, fixture) {
    lose_module();
    now += first_pause;
    ask("a");
    (void)reply(noscript);
    BOOST_TEST((forms() == names{"question", "SCRIPT", "EVAL", "EVALSHA"}));
    (void)reply(module_reply());
    BOOST_TEST(queue.counted.scripts_loaded == 0U);
    (void)reply(test::load_reply);
    BOOST_TEST(queue.counted.scripts_loaded == 1U);
    BOOST_TEST(queue.uses_module());
}

BOOST_FIXTURE_TEST_CASE(an_incompatible_module_is_reported_once_and_not_used, fixture) {
    find_module(module_reply(core::wire_version + 1));
    BOOST_TEST((errors.codes == std::vector{errc::invalid_config}));
    BOOST_TEST(errors.texts.back() ==
               "the server module has another wire version (got 2 of module 1.2.3, expected 1)");
    BOOST_TEST(!queue.uses_module());
}

BOOST_FIXTURE_TEST_CASE(a_user_without_the_permission_falls_back_and_gets_it_back, fixture) {
    auto& op = ask("a");
    (void)write();
    BOOST_TEST((reply(module_denied) == recovery::resend_with_script));
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST(errors.texts.back() == module_denied.substr(1, module_denied.size() - 3));
    const auto sent = write();
    BOOST_TEST(sent.at(0)[0] == "EVALSHA");
    (void)reply(server.answer(sent.at(0)));
    BOOST_TEST(op.is_allowed());
    now += first_pause;
    ask("b");
    BOOST_TEST((forms() == names{"question", "EVALSHA"}));
    BOOST_TEST((reply(module_reply()) == recovery::keep));
    ask("c");
    BOOST_TEST((forms() == names{"COLIMIT.CHECK"}));
}

BOOST_FIXTURE_TEST_CASE(a_module_that_the_user_may_not_run_is_reported_once_when_it_appears,
                        fixture) {
    find_module(module_denied);
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST(errors.texts.back() == module_denied.substr(1, module_denied.size() - 3));
}

/// Checks use the module nevertheless.
BOOST_FIXTURE_TEST_CASE(a_user_who_may_not_run_the_command_for_ids_has_filters_with_the_script,
                        fixture) {
    ask_for_id();
    BOOST_TEST((forms() == names{"COLIMIT.SEEN"}));
    BOOST_TEST((reply(seen_denied) == recovery::resend_with_script));
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST((forms() == names{"EVALSHA"}));
    ask("a");
    BOOST_TEST((forms() == names{"COLIMIT.CHECK"}));
    now += first_pause;
    ask_for_id();
    BOOST_TEST((forms() == names{"question", "EVALSHA"}));
    (void)reply("-ERR gone\r\n");
    (void)reply("-ERR gone\r\n");
    (void)reply(module_reply());
    (void)reply("-ERR gone\r\n");
    ask_for_id();
    BOOST_TEST((forms() == names{"COLIMIT.SEEN"}));
}

/// The question is permitted, so each question is followed by a denial that the server logs.
BOOST_FIXTURE_TEST_CASE(a_user_who_may_not_run_the_command_for_ids_tries_it_after_longer_pauses,
                        fixture) {
    ask_for_id();
    (void)write();
    (void)reply(seen_denied);
    BOOST_TEST((forms() == names{"EVALSHA"}));
    (void)reply("-ERR gone\r\n");
    for (auto pause = first_pause; pause < 3 * longest_pause; pause *= 2) {
        now += std::min(pause, longest_pause) - 1;
        ask("early");
        BOOST_TEST((forms() == names{"COLIMIT.CHECK"}));
        (void)reply("-ERR gone\r\n");
        now += 1;
        ask("due");
        BOOST_TEST((forms() == names{"question", "COLIMIT.CHECK"}));
        (void)reply(module_reply());
        (void)reply("-ERR gone\r\n");
        ask_for_id();
        BOOST_TEST((forms() == names{"COLIMIT.SEEN"}));
        (void)reply(seen_denied);
        BOOST_TEST((forms() == names{"EVALSHA"}));
        (void)reply("-ERR gone\r\n");
    }
}

BOOST_FIXTURE_TEST_CASE(without_the_module_there_is_none_for_ids_either, fixture) {
    ask_for_id();
    (void)write();
    BOOST_TEST((reply("-ERR unknown command 'COLIMIT.SEEN', with args\r\n") ==
                recovery::resend_with_script));
    ask("a");
    BOOST_TEST((forms() == names{"EVALSHA", "EVALSHA"}));
}

BOOST_AUTO_TEST_CASE(batches_of_a_required_module_wait_for_the_next_handshake) {
    auto f = fixture{module_use::required};
    auto& op = f.ask("a");
    (void)f.write();
    BOOST_TEST((f.reply(unknown_command) == recovery::leave_unloaded));
    BOOST_TEST(op.is_held);
    f.queue.lose_connection(f.position);
    f.position = 0;
    BOOST_TEST(op.is_held);
    f.connect(module_state::usable);
    const auto sent = f.write();
    BOOST_TEST(sent.at(0)[0] == "COLIMIT.CHECK");
    (void)f.reply(f.server.answer(sent.at(0)));
    BOOST_TEST(op.is_allowed());
}

/// A connection would be made again and again otherwise, as the handshake asks for checks only.
BOOST_AUTO_TEST_CASE(a_required_module_that_the_user_may_not_run_is_an_error) {
    auto f = fixture{module_use::required};
    auto& op = f.ask_for_id();
    (void)f.write();
    BOOST_TEST((f.reply(seen_denied) == recovery::keep));
    BOOST_TEST(op.ended(errc::auth_failed));
    BOOST_TEST((f.errors.codes == std::vector{errc::auth_failed}));
}

/// Sent with the module, lost, and sent again on a connection to a server without it.
BOOST_FIXTURE_TEST_CASE(the_next_connection_decides_the_form_of_batches_that_were_not_sent,
                        fixture) {
    auto& op = ask("a");
    const auto before = position;
    (void)write();
    queue.lose_connection(before); // no byte of it
    position = 0;
    connect(module_state::absent);
    const auto sent = write();
    BOOST_TEST(sent.at(0)[0] == "EVALSHA");
    (void)reply(server.answer(sent.at(0)));
    BOOST_TEST(op.is_allowed());
}

/// The question was sent, and the batch perhaps.
BOOST_FIXTURE_TEST_CASE(a_batch_whose_question_was_sent_is_not_sent_again, fixture) {
    lose_module();
    (void)reply("-ERR gone\r\n");
    now += first_pause;
    auto& op = ask("a");
    const auto before = position;
    (void)write();
    queue.lose_connection(before + 1);
    BOOST_TEST(op.ended(errc::outcome_unknown));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The queue when things go wrong: forgotten scripts, error replies, replies to other requests,
// and lost connections, after which nothing that may have run is sent again.

#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(script_queue_trouble)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::fake_operation;
using test::noscript;
using test::script_call;
using test::script_double;
using test::script_queue_bench;

const auto rules = policy{"p", gcra(100, 1s)};

/// Batches of two keys, so that it is easy to have several, and more than fly at once.
struct fixture : script_queue_bench {
    fixture() : fixture({.prefix = "t", .batch_size = 2, .batches_in_flight = 3}) {}
    explicit fixture(redis::queue_settings s) : script_queue_bench(std::move(s)) {}

    fake_operation& ask(std::string_view key, detail::call_request q = {}) {
        auto& op = ops.emplace_back(q);
        BOOST_REQUIRE(!submit(op, key, rules));
        return op;
    }

    void ask_all(std::initializer_list<std::string_view> keys) {
        for (const auto key : keys)
            ask(key);
    }

    std::deque<fake_operation> ops;
    script_double server{rules};
};

/// Fingerprints of policies whose calls were denied, and of those whose calls were permitted.
struct permission_reports : redis::error_sink {
    void note(const redis::error_report& what) noexcept override {
        codes.push_back(what.code);
        failed.push_back(what.policy);
    }
    void note_permitted(std::uint64_t policy) noexcept override { permitted.push_back(policy); }

    std::vector<errc> codes;
    std::vector<std::uint64_t> failed;
    std::vector<std::uint64_t> permitted;
};

} // namespace

/// Behind Sentinel, the next connection is one to a master.
BOOST_AUTO_TEST_CASE(batches_that_a_read_only_server_refused_are_sent_to_the_next_in_their_order) {
    auto f = fixture{{.prefix = "t",
                      .batch_size = 2,
                      .batches_in_flight = 2,
                      .max_in_flight = 100,
                      .keeps_read_only = true}};
    f.ask_all({"a", "b", "c", "d", "e"});
    f.queue.withdraw(f.ops[1], errc::deadline_exceeded);
    const auto first = f.write_calls();
    BOOST_REQUIRE(first.size() == 2U);
    constexpr std::string_view read_only = "READONLY You can't write against a read only replica.";
    // One key of the batch was denied, so nothing had to be written.
    auto refused = script_double{rules}.answer(first[1]);
    refused.values[1] = read_only;
    refused.statuses = ".e";
    BOOST_TEST(
        (f.reply("-" + std::string{read_only} + "\r\n") == redis::recovery::leave_read_only));
    f.queue.withdraw(f.ops[3], errc::deadline_exceeded);
    BOOST_TEST((f.reply(refused.bytes()) == redis::recovery::leave_read_only));
    BOOST_TEST(!f.queue.expects_reply());
    BOOST_TEST(f.take_done().size() == 2U); // those that were withdrawn
    f.queue.lose_connection(f.position);
    f.position = 0;
    f.queue.begin_connection({});
    const auto again = f.write_calls();
    BOOST_REQUIRE(again.size() == 2U);
    BOOST_TEST(again[0].keys == std::vector{first[0].keys.at(0)}, boost::test_tools::per_element());
    BOOST_TEST(again[1].keys == std::vector{first[1].keys.at(0)}, boost::test_tools::per_element());
    for (const auto& call : again)
        BOOST_TEST((f.reply(f.server.answer(call).bytes()) == redis::recovery::keep));
    BOOST_TEST((f.reply(f.server.answer(f.write_calls().at(0)).bytes()) == redis::recovery::keep));
    for (const auto i : {0U, 2U, 4U})
        BOOST_TEST(f.ops[i].is_allowed());
}

BOOST_FIXTURE_TEST_CASE(without_sentinel_a_read_only_server_ends_its_calls, fixture) {
    auto& op = ask("a");
    auto refused = server.answer(write_calls().at(0));
    refused.values[0] = "READONLY You can't write against a read only replica.";
    refused.statuses = "e";
    BOOST_TEST((reply(refused.bytes()) == redis::recovery::leave_read_only));
    BOOST_TEST(op.ended(errc::unavailable));
}

constexpr std::string_view no_function = "-ERR Function not found\r\n";

[[nodiscard]] std::vector<script_call> function_calls(std::string bytes) {
    auto calls = std::vector<script_call>{};
    for (const auto& words : test::commands_of(std::move(bytes))) {
        BOOST_TEST(words.at(0) == "FCALL");
        BOOST_TEST(words.at(1) == redis::check_script.function);
        calls.emplace_back(words);
    }
    return calls;
}

/// The next handshake finds out whether the library is there again.
BOOST_AUTO_TEST_CASE(batches_whose_function_was_deleted_wait_for_the_next_connection) {
    auto f = fixture{{.prefix = "t",
                      .batch_size = 2,
                      .batches_in_flight = 2,
                      .command = redis::script_command::fcall}};
    auto errors = permission_reports{};
    f.queue.report_to(errors);
    f.ask_all({"a", "b", "c", "d", "e"});
    const auto first = function_calls(f.write());
    BOOST_REQUIRE(first.size() == 2U);
    for (auto i = 0; i < 2; ++i)
        BOOST_TEST((f.reply(no_function) == redis::recovery::leave_unloaded));
    BOOST_TEST(!f.queue.expects_reply());
    BOOST_TEST(f.take_done().empty());
    BOOST_TEST(errors.codes.empty()); // the handshake reports it, if it is still so
    f.queue.lose_connection(f.position);
    f.position = 0;
    f.queue.begin_connection({});
    const auto again = function_calls(f.write());
    BOOST_REQUIRE(again.size() == 2U);
    for (auto i = 0U; i < 2; ++i) {
        BOOST_TEST(again[i].keys == first[i].keys, boost::test_tools::per_element());
        BOOST_TEST((f.reply(f.server.answer(again[i]).bytes()) == redis::recovery::keep));
    }
    const auto last = function_calls(f.write());
    BOOST_TEST((f.reply(f.server.answer(last.at(0)).bytes()) == redis::recovery::keep));
    BOOST_TEST(std::ranges::all_of(f.ops, &fake_operation::is_allowed));
}

/// The server has executed nothing of it, and the twin decides for each key what it can do.
BOOST_AUTO_TEST_CASE(a_batch_for_a_full_server_is_sent_again_once_to_the_function_for_it) {
    constexpr std::string_view full =
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    for (const auto is_decided : {true, false}) {
        auto f = fixture{{.prefix = "t", .command = redis::script_command::fcall}};
        auto& op = f.ask("a");
        BOOST_TEST(function_calls(f.write()).size() == 1U);
        BOOST_TEST((f.reply(full) == redis::recovery::resend_with_script));
        BOOST_TEST(op.is_held);
        const auto again = test::commands_of(f.write());
        BOOST_REQUIRE(again.size() == 1U);
        BOOST_TEST(again[0].at(0) == "FCALL");
        BOOST_TEST(again[0].at(1) == redis::check_script.function_if_full);
        const auto answer = f.server.answer(script_call{again[0]}).bytes();
        BOOST_TEST(
            (f.reply(is_decided ? std::string_view{answer} : full) == redis::recovery::keep));
        BOOST_TEST((is_decided ? op.is_allowed() : op.ended(errc::server_error)));
    }
}

BOOST_FIXTURE_TEST_CASE(a_script_is_not_sent_again_to_a_full_server, fixture) {
    auto& op = ask("a");
    (void)write();
    BOOST_TEST((reply("-OOM command not allowed when used memory > 'maxmemory'.\r\n") ==
                redis::recovery::keep));
    BOOST_TEST(op.ended(errc::server_error));
}

/// No server replies NOSCRIPT to FCALL; where EVAL is forbidden, it is never sent.
BOOST_AUTO_TEST_CASE(a_function_is_never_sent_as_a_script) {
    auto f = fixture{{.prefix = "t", .command = redis::script_command::fcall}};
    auto& op = f.ask("a");
    BOOST_TEST(function_calls(f.write()).size() == 1U);
    BOOST_TEST((f.reply(noscript) != redis::recovery::keep));
    BOOST_TEST(op.ended(errc::unavailable));
    BOOST_TEST(f.write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_batch_whose_script_was_forgotten_is_sent_again_with_its_text, fixture) {
    auto& op = ask("a");
    (void)write();
    BOOST_TEST((reply(noscript) == redis::recovery::resend_with_script));
    BOOST_TEST(op.is_held);
    BOOST_TEST(!queue.expects_reply());
    const auto again = test::commands_of(write());
    BOOST_REQUIRE(again.size() == 2U);
    BOOST_TEST(again[0].at(1) == "LOAD");
    BOOST_TEST(again[1].at(0) == "EVAL");
    BOOST_TEST(
        (reply("$40\r\n0123456789012345678901234567890123456789\r\n") == redis::recovery::keep));
    BOOST_TEST(op.is_held);
    BOOST_TEST((reply(server.answer(again[1])) == redis::recovery::keep));
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(op.result.remaining == 99);
}

BOOST_FIXTURE_TEST_CASE(batches_whose_script_was_forgotten_are_sent_again_in_their_order, fixture) {
    ask_all({"a", "b", "a2", "b2", "a3", "b3"});
    BOOST_TEST(write_calls().size() == 3U);
    ask("later");
    for (int i = 0; i < 3; ++i)
        BOOST_TEST((reply(noscript) == redis::recovery::resend_with_script));
    const auto again = write_calls();
    BOOST_REQUIRE(again.size() == 3U);
    BOOST_TEST(again[0].keys[0].ends_with(":a"));
    BOOST_TEST(again[1].keys[0].ends_with(":a2"));
    BOOST_TEST(again[2].keys[0].ends_with(":a3"));
}

BOOST_FIXTURE_TEST_CASE(who_gave_up_before_a_resend_is_not_sent_again, fixture) {
    auto& gone = ask("a");
    ask("b");
    (void)write();
    queue.withdraw(gone, boost::asio::error::operation_aborted);
    BOOST_TEST((reply(noscript) == redis::recovery::resend_with_script));
    const auto again = write_calls().at(0);
    BOOST_TEST(again.keys.size() == 1U);
    BOOST_TEST(again.keys[0].ends_with(":b"));
}

BOOST_FIXTURE_TEST_CASE(a_deadline_between_refusal_and_resend_is_known_to_have_charged_nothing,
                        fixture) {
    auto& op = ask("a");
    (void)write();
    BOOST_TEST((reply(noscript) == redis::recovery::resend_with_script));
    queue.expire(2'000'000, errc::deadline_exceeded);
    BOOST_TEST(op.ended(errc::deadline_exceeded));
    BOOST_TEST(write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_server_that_refuses_the_script_with_its_text_too_is_not_asked_for_ever,
                        fixture) {
    auto& op = ask("a");
    (void)write();
    (void)reply(noscript);
    (void)write();
    (void)reply("$0\r\n\r\n");
    (void)reply(noscript);
    BOOST_TEST(op.ended(errc::unavailable));
    BOOST_TEST(write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_batch_after_a_resend_goes_by_the_digest_again, fixture) {
    ask("a");
    (void)write();
    (void)reply(noscript);
    const auto again = test::commands_of(write());
    (void)reply("$0\r\n\r\n");
    (void)reply(server.answer(again[1]));
    ask("b");
    BOOST_TEST(test::commands_of(write()).at(0).at(0) == "EVALSHA");
}

BOOST_FIXTURE_TEST_CASE(a_script_that_the_server_refuses_to_load_is_not_counted_as_loaded,
                        fixture) {
    ask("a");
    (void)write();
    (void)reply(noscript);
    const auto again = test::commands_of(write());
    BOOST_TEST((reply("-OOM command not allowed\r\n") == redis::recovery::keep));
    BOOST_TEST(queue.counted.script_loads == 1U);
    BOOST_TEST(queue.counted.scripts_loaded == 0U);
    (void)reply(noscript);
    ask("b");
    (void)write();
    (void)reply(noscript);
    (void)write();
    (void)reply(test::load_reply);
    BOOST_TEST(queue.counted.script_loads == 2U);
    BOOST_TEST(queue.counted.scripts_loaded == 1U);
    queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(an_error_is_reported_with_the_policy_of_its_calls, fixture) {
    auto errors = permission_reports{};
    queue.report_to(errors);
    ask("a");
    (void)write();
    (void)reply("-NOPERM this user has no permissions to run the 'evalsha' command\r\n");
    BOOST_TEST((errors.codes == std::vector{errc::auth_failed}));
    BOOST_TEST(errors.failed == std::vector{detail::access::data(rules)->fingerprint});
    BOOST_TEST(errors.permitted.empty());
}

BOOST_FIXTURE_TEST_CASE(a_batch_is_permitted_unless_a_key_of_it_is_denied, fixture) {
    auto errors = permission_reports{};
    queue.report_to(errors);
    for (const std::string_view text : {"", "OOM command not allowed", "NOPERM no 'set'"}) {
        ask("a");
        auto answer = server.answer(write_calls().at(0));
        if (!text.empty()) {
            answer.values.at(0) = text;
            answer.statuses = "e";
            answer.granted = 0;
        }
        BOOST_TEST((reply(answer.bytes()) == redis::recovery::keep));
    }
    const auto policy = detail::access::data(rules)->fingerprint;
    BOOST_TEST((errors.codes == std::vector{errc::server_error, errc::auth_failed}));
    BOOST_TEST(errors.failed == std::vector(2, policy));
    BOOST_TEST(errors.permitted == std::vector(2, policy));
}

BOOST_FIXTURE_TEST_CASE(an_error_reply_ends_the_calls_of_its_batch_alone, fixture) {
    ask_all({"a", "b", "c"});
    const auto sent = write_calls();
    BOOST_TEST((reply("-OOM command not allowed\r\n") == redis::recovery::keep));
    BOOST_TEST(ops[0].ended(errc::server_error));
    BOOST_TEST(ops[1].ended(errc::server_error));
    BOOST_TEST((reply(server.answer(sent[1]).bytes()) == redis::recovery::keep));
    BOOST_TEST(ops[2].is_allowed());
}

constexpr std::string_view crossslot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";

/// Where neither HELLO nor INFO said that the server is a node of a cluster.
BOOST_FIXTURE_TEST_CASE(calls_in_several_hash_slots_are_divided_once_the_server_refuses_them,
                        script_queue_bench) {
    auto server = script_double{rules};
    auto ops = std::deque<fake_operation>{};
    const auto ask = [&](int i) {
        BOOST_REQUIRE(!submit(ops.emplace_back(), "k" + std::to_string(i), rules));
    };
    for (auto i = 0; i < 20; ++i)
        ask(i);
    auto sent = write_calls();
    BOOST_REQUIRE(sent.size() == 1U);
    for (auto i = 20; i < 40; ++i)
        ask(i);
    BOOST_TEST(write_calls().size() == 1U);
    for (auto i = 40; i < 60; ++i)
        ask(i); // these wait
    queue.withdraw(ops[0], boost::asio::error::operation_aborted);
    (void)take_done();
    for (auto i = 0; i < 2; ++i)
        BOOST_TEST((reply(crossslot) == redis::recovery::keep));
    BOOST_TEST(queue.done.empty());
    auto made = std::size_t{0};
    for (sent = write_calls(); !sent.empty(); sent = write_calls())
        for (const auto& call : sent) {
            const auto tag = [](std::string_view key) { return key.substr(0, key.find('}')); };
            for (const auto& key : call.keys)
                BOOST_TEST(tag(key) == tag(call.keys.front()));
            made += call.keys.size();
            BOOST_TEST((reply(server.answer(call).bytes()) == redis::recovery::keep));
        }
    BOOST_TEST(made == 59U);
    for (auto i = std::size_t{1}; i < ops.size(); ++i)
        BOOST_TEST(ops[i].is_allowed());
    BOOST_TEST(queue.size() == 0U);
    // Nothing can be done about a batch that is in one slot.
    ask(0);
    (void)write();
    BOOST_TEST((reply(crossslot) == redis::recovery::keep));
    BOOST_TEST(ops.back().ended(errc::wrong_node));
}

BOOST_FIXTURE_TEST_CASE(calls_wait_divided_once_the_server_says_that_it_is_in_a_cluster,
                        script_queue_bench) {
    auto ops = std::deque<fake_operation>{};
    const auto ask = [&](int i) {
        BOOST_REQUIRE(!submit(ops.emplace_back(), "k" + std::to_string(i), rules));
    };
    ask(0);
    (void)write();
    for (auto i = 1; i < 20; ++i)
        ask(i);
    BOOST_TEST((reply("-MOVED 3999 127.0.0.1:6381\r\n") == redis::recovery::keep));
    BOOST_TEST(ops[0].ended(errc::wrong_node));
    BOOST_TEST(write_calls().size() > 1U);
    queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(calls_for_another_node_of_a_cluster_are_not_divided, script_queue_bench) {
    auto ops = std::deque<fake_operation>{};
    for (auto i = 0; i < 20; ++i)
        BOOST_REQUIRE(!submit(ops.emplace_back(), "k" + std::to_string(i), rules));
    BOOST_TEST(write_calls().size() == 1U);
    BOOST_TEST((reply("-MOVED 3999 127.0.0.1:6381\r\n") == redis::recovery::keep));
    for (const auto& op : ops)
        BOOST_TEST(op.ended(errc::wrong_node));
    BOOST_TEST(write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_reply_that_nobody_asked_for_is_not_trusted, fixture) {
    BOOST_TEST(!reply("+OK\r\n").has_value());
    BOOST_TEST(!reply("-ERR what\r\n").has_value());
}

BOOST_FIXTURE_TEST_CASE(a_reply_of_another_request_answers_nobody, fixture) {
    ask_all({"a", "b", "c", "d"});
    const auto sent = write_calls();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(!reply(server.answer(sent[1]).bytes()).has_value());
    BOOST_TEST(queue.done.empty());
    queue.lose_connection(position);
    for (auto& op : ops)
        BOOST_TEST(op.ended(errc::outcome_unknown));
}

BOOST_FIXTURE_TEST_CASE(what_had_begun_to_leave_is_never_sent_again, fixture) {
    ask_all({"a", "b", "c", "d", "e", "f"});
    auto bytes = test::commands_of(write());
    auto first = std::string{};
    redis::resp::append_array(first, bytes[0].size());
    for (const auto& word : bytes[0])
        redis::resp::append_bulk(first, word);
    queue.lose_connection(first.size() + 1); // one byte of the second batch
    for (std::size_t i = 0; i < 4; ++i)
        BOOST_TEST(ops[i].ended(errc::outcome_unknown));
    BOOST_TEST(ops[4].is_held);
    position = 0;
    const auto again = write_calls();
    BOOST_REQUIRE(again.size() == 1U);
    BOOST_TEST(again[0].keys[0].ends_with(":e"));
    BOOST_TEST(again[0].keys.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(for_every_number_of_bytes_that_left_each_call_is_resent_or_unknown,
                        fixture) {
    ask_all({"a", "b", "c", "d", "e", "f"});
    const auto whole = write();
    queue.lose_connection(0);
    for (std::size_t left = 0; left <= whole.size(); left += 7) {
        auto bench = fixture{};
        bench.ask_all({"a", "b", "c", "d", "e", "f"});
        (void)bench.write();
        bench.queue.lose_connection(left);
        auto unknown = std::size_t{0};
        for (auto& op : bench.ops)
            unknown += op.ended(errc::outcome_unknown) ? 1U : 0U;
        auto again = std::size_t{0};
        for (const auto& sent : bench.write_calls())
            again += sent.calls.size();
        BOOST_TEST(unknown + again == 6U);
        const auto batches_begun = (left + whole.size() / 3 - 1) / (whole.size() / 3);
        BOOST_TEST(unknown == 2 * std::min<std::size_t>(batches_begun, 3));
        bench.queue.fail_all(errc::closed);
    }
}

BOOST_FIXTURE_TEST_CASE(a_lost_peek_charged_nothing_in_any_case, fixture) {
    auto& asks = ask("a", {.verb = core::verb::peek});
    auto& charges = ask("a");
    (void)write();
    queue.lose_connection(position);
    BOOST_TEST(asks.ended(errc::unavailable));
    BOOST_TEST(charges.ended(errc::outcome_unknown));
}

BOOST_FIXTURE_TEST_CASE(what_did_not_leave_goes_first_on_the_next_connection, fixture) {
    ask_all({"a", "b"});
    (void)write();
    ask("c");
    queue.lose_connection(0);
    position = 0;
    const auto again = write_calls();
    BOOST_REQUIRE(again.size() == 2U);
    BOOST_TEST(again[0].keys[0].ends_with(":a"));
    BOOST_TEST(again[1].keys[0].ends_with(":c"));
    BOOST_TEST((reply(server.answer(again[0]).bytes()) == redis::recovery::keep));
    BOOST_TEST(ops[0].is_allowed());
}

BOOST_FIXTURE_TEST_CASE(a_loss_in_the_middle_of_a_resend_counts_its_replies_anew, fixture) {
    ask("a");
    (void)write();
    (void)reply(noscript);
    (void)write();
    (void)reply("$0\r\n\r\n"); // of SCRIPT LOAD
    queue.lose_connection(0);
    position = 0;
    const auto again = test::commands_of(write());
    BOOST_REQUIRE(again.size() == 1U);
    BOOST_TEST(again[0].at(0) == "EVALSHA"); // the handshake has loaded it
    BOOST_TEST((reply(server.answer(again[0])) == redis::recovery::keep));
    BOOST_TEST(ops[0].is_allowed());
}

BOOST_FIXTURE_TEST_CASE(failing_everything_leaves_nothing, fixture) {
    ask_all({"a", "b", "c"});
    (void)write();
    ask("d");
    queue.fail_all(errc::closed);
    for (auto& op : ops)
        BOOST_TEST(op.ended(errc::closed));
    BOOST_TEST(!queue.next_deadline().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

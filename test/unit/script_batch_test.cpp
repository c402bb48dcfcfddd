// SPDX-License-Identifier: BSL-1.0
//
// One batch: its encoding, and the decisions that it makes from a reply.

#include <core/evaluate.hpp>
#include <redis/protocol/script.hpp>
#include <redis/script/script_batch.hpp>
#include <redis/script/wire.hpp>
#include <support/fake_operation.hpp>
#include <support/script_double.hpp>
#include <support/stored_value.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(batches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using test::fake_operation;
using test::script_call;
using test::script_double;
using test::script_reply;

const auto rules = policy{"p", gcra(2, 1s)};

/// A batch of three keys and its calls.
struct fixture {
    fixture() { batch.start(detail::access::data(rules), detail::store_clock, 7); }

    fake_operation& add(std::string_view key, detail::call_request q = {}) {
        auto& op = ops.emplace_back(q);
        batch.add(op, "t", key);
        return op;
    }

    [[nodiscard]] std::vector<test::command>
    encode(redis::script_command how = redis::script_command::evalsha) {
        auto out = std::string{};
        batch.encode(out, "0", how);
        return test::commands_of(std::move(out));
    }

    std::optional<redis::recovery> read(const std::string& bytes) {
        auto reader = redis::resp::decoder{};
        BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
        const auto needs = batch.read_reply(reader, bytes);
        if (needs)
            batch.release([](detail::operation& op) { op.is_held = false; });
        return needs;
    }

    std::optional<redis::recovery> answer(script_double& server) {
        return read(server.answer(encode().back()));
    }

    redis::script_batch batch{3};
    std::deque<fake_operation> ops;
};

[[nodiscard]] script_reply reply_to(std::size_t keys, std::int64_t granted) {
    auto reply = script_reply{.nonce = "7", .granted = granted};
    reply.values.resize(keys);
    return reply;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(single_allows_of_cost_1_are_named_by_their_keys_alone, fixture) {
    add("a");
    add("b\r\n");
    const auto words = encode().at(0);
    BOOST_TEST(words.at(0) == "EVALSHA");
    BOOST_TEST(words.at(1) == redis::check_script.sha1);
    BOOST_TEST(words.at(2) == "2");
    BOOST_TEST(words.at(3).ends_with("}:p:k:a"));
    BOOST_TEST(words.at(4).ends_with("}:p:k:b\r\n"));
    BOOST_TEST(words.at(5) == detail::access::data(rules)->wire);
    BOOST_TEST(words.at(6) == "7");
    BOOST_TEST(words.at(7) == "");
    BOOST_TEST(words.at(8) == "0");
    BOOST_TEST(words.at(9) == "");
    BOOST_TEST(words.size() == 10U);
}

BOOST_FIXTURE_TEST_CASE(calls_on_equal_keys_share_one_in_the_order_they_came, fixture) {
    add("a", {.cost = 2, .at_least = 2});
    add("b");
    add("a", {.verb = verb::peek, .cost = 1, .at_least = 0});
    const auto sent = script_call{encode().at(0)};
    BOOST_TEST(sent.keys.size() == 2U);
    BOOST_REQUIRE(sent.calls.size() == 3U);
    BOOST_TEST(sent.calls[0].first == 0U);
    BOOST_TEST(sent.calls[0].second.cost == 2);
    BOOST_TEST(sent.calls[1].first == 0U);
    BOOST_TEST((sent.calls[1].second.verb == verb::peek));
    BOOST_TEST(sent.calls[1].second.at_least == 0);
    BOOST_TEST(sent.calls[2].first == 1U);
}

BOOST_FIXTURE_TEST_CASE(where_all_are_allows_of_cost_1_their_number_is_all_that_is_said, fixture) {
    for (const auto* key : {"a", "b", "a", "a"})
        add(key);
    const auto words = encode().at(0);
    BOOST_TEST(words.at(2) == "2");
    BOOST_TEST(words.at(9) == "\x03\x01");
    BOOST_TEST(batch.sent().keys == 2U);
    BOOST_TEST(batch.sent().calls == 4U);
    BOOST_TEST(batch.sent().entries == 2U);
}

BOOST_AUTO_TEST_CASE(a_number_of_calls_has_two_bytes_where_one_is_not_enough) {
    for (const auto calls : {255, 256}) {
        auto batch = redis::script_batch{300};
        auto ops = std::deque<fake_operation>(static_cast<std::size_t>(calls) + 1);
        batch.start(detail::access::data(rules), detail::store_clock, 7);
        batch.add(ops[0], "t", "b");
        for (std::size_t i = 1; i < ops.size(); ++i)
            batch.add(ops[i], "t", "a");
        auto out = std::string{};
        batch.encode(out, "0");
        const auto words = test::commands_of(std::move(out)).at(0);
        BOOST_TEST(words.at(9) == (calls == 255 ? "\x01\xff" : std::string("\1\0\0\1", 4)));
        BOOST_TEST(script_call{words}.calls.size() == ops.size());
        batch.release([](detail::operation& op) { op.is_held = false; });
    }
}

BOOST_FIXTURE_TEST_CASE(equal_calls_in_a_row_are_one_entry, fixture) {
    for (const auto cost : {2, 2, 1, 2, 2, 2})
        add("a", {.cost = cost, .at_least = cost});
    add("b", {.cost = 2, .at_least = 2});
    batch.drop(ops[2].index); // so that all on `a` follow each other
    const auto words = encode().at(0);
    BOOST_TEST(words.at(9).size() == 2U * 21);
    BOOST_TEST(script_call{words}.calls.size() == 6U);
    BOOST_TEST(batch.sent().calls == 6U);
    BOOST_TEST(batch.sent().entries == 2U);
    batch.start(detail::access::data(rules), detail::store_clock, 8);
    for (const auto least : {2, 1, 1})
        add("a", {.cost = 2, .at_least = least});
    add("a", {.verb = verb::peek, .cost = 2, .at_least = 1});
    BOOST_TEST(encode().at(0).at(8).size() == 3U * 21);
    BOOST_TEST(batch.sent().entries == 3U);
}

BOOST_FIXTURE_TEST_CASE(calls_of_different_members_are_different_calls, fixture) {
    const policy members{"m", distinct(5, 1h)};
    batch.start(detail::access::data(members), detail::store_clock, 7);
    for (const auto* member : {"x", "x", "y", "x"})
        add("a", {.member = member, .has_member = true});
    (void)encode();
    BOOST_TEST(batch.sent().calls == 4U);
    BOOST_TEST(batch.sent().entries == 3U);
}

BOOST_FIXTURE_TEST_CASE(calls_on_one_key_get_the_answers_of_one_after_another, fixture) {
    auto server = script_double{rules};
    auto& first = add("a");
    auto& other = add("b");
    auto& second = add("a");
    auto& third = add("a");
    auto& back = add("a", {.verb = verb::refund, .cost = 1, .at_least = 1});
    auto& fourth = add("a");
    BOOST_TEST((answer(server) == redis::recovery::keep));
    BOOST_TEST(first.result.remaining == 1);
    BOOST_TEST(second.result.remaining == 0);
    BOOST_TEST((third.result.outcome == outcome::denied));
    BOOST_TEST(back.result.remaining == 1);
    BOOST_TEST(fourth.is_allowed());
    BOOST_TEST(other.result.remaining == 1);
    BOOST_TEST(first.result.server_time.time_since_epoch().count() == server.now);
}

BOOST_FIXTURE_TEST_CASE(a_supplied_clock_is_sent_and_decides, fixture) {
    auto server = script_double{rules};
    batch.start(detail::access::data(rules), 123'456'789, 7);
    auto& op = add("a", {.now = 123'456'789});
    BOOST_TEST(script_call{encode().at(0)}.clock == "123456789");
    BOOST_TEST((answer(server) == redis::recovery::keep));
    BOOST_TEST(op.result.server_time.time_since_epoch().count() == 123'456'789);
}

BOOST_FIXTURE_TEST_CASE(it_takes_calls_of_its_policy_and_clock_only, fixture) {
    BOOST_TEST(batch.fits(detail::access::data(rules), detail::store_clock));
    BOOST_TEST(batch.fits(detail::access::data(policy("p", gcra(2, 1s))), detail::store_clock));
    BOOST_TEST(!batch.fits(detail::access::data(policy("q", gcra(2, 1s))), detail::store_clock));
    BOOST_TEST(!batch.fits(detail::access::data(policy("p", gcra(3, 1s))), detail::store_clock));
    BOOST_TEST(!batch.fits(detail::access::data(rules), 5));
    add("a");
    (void)encode();
    BOOST_TEST(!batch.fits(detail::access::data(rules), detail::store_clock));
}

BOOST_FIXTURE_TEST_CASE(it_is_full_by_keys_and_by_calls, fixture) {
    for (const auto* key : {"a", "b", "a", "a"})
        add(key);
    BOOST_TEST(!batch.is_full());
    add("c");
    BOOST_TEST(batch.is_full());

    batch.start(detail::access::data(rules), detail::store_clock, 8);
    for (int i = 0; i < 1023; ++i)
        add("a");
    BOOST_TEST(!batch.is_full());
    add("a");
    BOOST_TEST(batch.is_full());
}

BOOST_FIXTURE_TEST_CASE(a_call_that_is_dropped_before_it_is_encoded_is_not_made, fixture) {
    auto server = script_double{rules};
    auto& first = add("a");
    auto& alone = add("b");
    auto& second = add("a");
    batch.drop(first.index);
    batch.drop(alone.index);
    const auto sent = script_call{encode().at(0)};
    BOOST_TEST(sent.keys.size() == 1U);
    BOOST_TEST(sent.calls.size() == 1U);
    BOOST_TEST((answer(server) == redis::recovery::keep));
    BOOST_TEST(second.result.remaining == 1);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_is_dropped_afterwards_still_counts_for_the_next, fixture) {
    auto server = script_double{rules};
    auto& first = add("a");
    auto& second = add("a");
    const auto words = encode().at(0);
    batch.drop(first.index);
    BOOST_TEST(!batch.is_abandoned());
    BOOST_TEST((read(server.answer(words)) == redis::recovery::keep));
    BOOST_TEST(second.result.remaining == 0);
    BOOST_TEST(batch.is_abandoned());
}

BOOST_FIXTURE_TEST_CASE(taken_back_it_is_encoded_without_those_who_left_meanwhile, fixture) {
    auto server = script_double{rules};
    auto& first = add("a");
    auto& second = add("b");
    (void)encode();
    batch.drop(first.index);
    batch.take_back();
    const auto sent = script_call{encode().at(0)};
    BOOST_TEST(sent.keys.size() == 1U);
    BOOST_TEST((answer(server) == redis::recovery::keep));
    BOOST_TEST(second.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(with_the_script_it_is_loaded_and_evaluated_in_one_go, fixture) {
    add("a");
    const auto sent = encode(redis::script_command::eval);
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST((sent[0] == test::command{"SCRIPT", "LOAD", std::string{redis::check_script.body}}));
    BOOST_TEST(sent[1].at(0) == "EVAL");
    BOOST_TEST(sent[1].at(1) == redis::check_script.body);
    BOOST_TEST(script_call{sent[1]}.keys.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(the_server_module_gets_what_the_script_gets_but_no_digest, fixture) {
    add("a");
    add("b");
    auto script = encode().at(0);
    batch.take_back();
    const auto sent = encode(redis::script_command::server_module);
    script.erase(script.begin(), script.begin() + 2);
    script.insert(script.begin(), "COLIMIT.CHECK");
    BOOST_TEST(sent.size() == 1U);
    BOOST_TEST((sent.at(0) == script));
    BOOST_TEST((batch.sending.form == redis::script_command::server_module));
}

BOOST_FIXTURE_TEST_CASE(a_reply_of_another_nonce_shape_or_length_is_not_its_reply, fixture) {
    add("a");
    add("b");
    (void)encode();
    auto other_nonce = reply_to(2, 2);
    other_nonce.nonce = "8";
    auto long_nonce = reply_to(2, 2);
    long_nonce.nonce = "18446744073709551623"; // 7 modulo 2^64
    auto no_time = reply_to(2, 2);
    no_time.time = "- 0";
    auto late = reply_to(2, 2);
    late.time = "9007199254740991 0";
    auto negative = reply_to(2, 2);
    negative.time = "-1 0";
    auto few_statuses = reply_to(2, 2);
    few_statuses.statuses = ".";
    auto many_statuses = reply_to(2, 2);
    many_statuses.statuses = "...";
    auto strange_status = reply_to(2, 2);
    strange_status.statuses = ".m";
    for (const auto& bad : {other_nonce, long_nonce, no_time, late, negative, few_statuses,
                            many_statuses, strange_status, reply_to(1, 1), reply_to(3, 3)})
        BOOST_TEST(!read(bad.bytes()).has_value());
    for (const std::string bad :
         {"*0\r\n", "$-1\r\n", ":1\r\n", "+OK\r\n", "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
          "*3\r\n$-1\r\n$-1\r\n:7\r\n", "*3\r\n$-1\r\n$-1\r\n$0\r\n\r\n",
          "*3\r\n$-1\r\n:5\r\n$12\r\n7 1000 0 2 -\r\n",
          "*3\r\n*1\r\n$-1\r\n$-1\r\n$12\r\n7 1000 0 2 -\r\n", "%1\r\n$-1\r\n$-1\r\n"})
        BOOST_TEST(!read(bad).has_value());
    BOOST_TEST(ops[0].is_held);
}

BOOST_FIXTURE_TEST_CASE(a_reply_that_granted_otherwise_than_the_arithmetic_decides_nothing,
                        fixture) {
    auto& op = add("a");
    (void)encode();
    BOOST_TEST((read(reply_to(1, 0).bytes()) == redis::recovery::keep));
    BOOST_TEST(op.ended(errc::corrupt_state));
}

/// A denial writes nothing, so the next call finds what another version has left as it was. Where
/// the clock was set back it writes the window that it moved, and with it the whole state.
BOOST_AUTO_TEST_CASE(equal_calls_that_a_count_of_members_denies_find_what_is_stored) {
    constexpr std::int64_t second = 1'000'000;
    constexpr auto now = 1'000 * second;
    constexpr auto end = 3'600 * second;
    const auto members = distinct(3, 1h).named("members");
    const auto high = policy{"p", gcra(20, 1min).named("bucket"), members};
    const auto low = policy{"p", gcra(10, 1min).named("bucket"), members};
    auto state = core::key_state{};
    auto ignored = decision{};
    (void)core::evaluate(
        detail::access::data(high)->compiled, state,
        {.verb = verb::charge, .cost = 20, .at_least = 20, .now = now - 6 * second}, ignored);
    auto facts = std::string{};
    for (int call = 0; call < 2; ++call)
        for (const auto number : {double{end}, 3.0, 4.0, 1.0}) { // with the member there are 4
            char bytes[sizeof number];
            std::memcpy(bytes, &number, sizeof number);
            facts.append(bytes, sizeof number);
        }

    for (const auto found_end : {end, 2 * end}) {
        state.states[1] = {.t = found_end, .debt = 3, .num = 1, .capacity = 1};
        auto f = fixture{};
        f.batch.start(detail::access::data(low), detail::store_clock, 7);
        for (const std::string_view member : {"ann", "bob"})
            f.add("a", {.member = member, .has_member = true});
        (void)f.encode();
        auto reply = std::string{};
        redis::resp::append_array(reply, 3);
        redis::resp::append_bulk(reply,
                                 test::encode_value(detail::access::data(low)->compiled, state, 0));
        redis::resp::append_bulk(reply, facts);
        redis::resp::append_bulk(reply, "7 1000 0 0 -");
        BOOST_TEST((f.read(reply) == redis::recovery::keep));
        for (const auto& op : f.ops) {
            BOOST_TEST(op.ended({}));
            BOOST_TEST(!op.result.allowed());
        }
        // Six seconds give one back. As it is stored then, more is owed than the rule shows.
        BOOST_TEST(f.ops[0].result.rules[0].balance == 1);
        BOOST_TEST(f.ops[1].result.rules[0].balance == (found_end == end ? 1 : 0));
    }
}

BOOST_FIXTURE_TEST_CASE(a_key_with_a_foreign_value_fails_alone, fixture) {
    auto& good = add("a");
    auto& bad = add("b");
    auto& again = add("b");
    (void)encode();
    auto reply = reply_to(2, 1);
    reply.statuses = ".c";
    BOOST_TEST((read(reply.bytes()) == redis::recovery::keep));
    BOOST_TEST(good.is_allowed());
    BOOST_TEST(bad.ended(errc::key_conflict));
    BOOST_TEST(again.ended(errc::key_conflict));
}

BOOST_FIXTURE_TEST_CASE(an_error_of_one_key_says_what_becomes_of_the_connection, fixture) {
    auto& good = add("a");
    auto& full = add("b");
    auto& demoted = add("c");
    (void)encode();
    auto reply = reply_to(3, 1);
    reply.values[1] = "OOM command not allowed";
    reply.values[2] = "READONLY You can't write against a read only replica.";
    reply.statuses = ".ee";
    BOOST_TEST((read(reply.bytes()) == redis::recovery::leave_read_only));
    BOOST_TEST(good.is_allowed());
    BOOST_TEST(full.ended(errc::server_error));
    BOOST_TEST(demoted.ended(errc::unavailable));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// The queue of scripts on a connection that works: which batch a call joins, how many are in
// flight, which are sent early.

#include <support/script_queue_bench.hpp>
#include <support/substitution.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/error.hpp>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(script_queues)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using test::fake_operation;
using test::script_call;
using test::script_double;
using test::script_queue_bench;

const auto rules = policy{"p", gcra(100, 1s)};
const auto others = policy{"q", gcra(100, 1s)};

struct fixture : script_queue_bench {
    explicit fixture(redis::queue_settings s = {.prefix = "t"})
        : script_queue_bench(std::move(s)) {}

    fake_operation& ask(std::string_view key, detail::call_request q = {},
                        const policy& p = rules) {
        auto& op = ops.emplace_back(q);
        BOOST_REQUIRE(!submit(op, key, p));
        return op;
    }

    std::deque<fake_operation> ops;
};

struct small : fixture {
    small()
        : fixture({.prefix = "t", .batch_size = 2, .batches_in_flight = 2, .max_in_flight = 8}) {}
};

} // namespace

BOOST_FIXTURE_TEST_CASE(calls_of_one_turn_leave_in_one_batch_for_each_policy, fixture) {
    for (const auto* key : {"a", "b", "a"})
        ask(key);
    ask("a", {}, others);
    ask("c");
    const auto sent = write_calls();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(sent[0].calls.size() == 4U);
    BOOST_TEST(sent[0].keys.size() == 3U);
    BOOST_TEST(sent[1].calls.size() == 1U);
    BOOST_TEST(sent[0].nonce != sent[1].nonce);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_is_full_says_so_whichever_it_is, small) {
    ask("a");
    BOOST_TEST(!queue.is_full());
    ask("b", {}, others);
    BOOST_TEST(!queue.is_full());
    ask("c", {}, others);
    BOOST_TEST(queue.is_full());
    BOOST_TEST(write_calls().size() == 2U);
    BOOST_TEST(!queue.is_full());
}

BOOST_FIXTURE_TEST_CASE(a_substitute_has_the_deadline_of_the_call_that_it_replaces, fixture) {
    auto& op = ask("a", {.verb = detail::verb::reserve});
    (void)write_calls();
    test::check_deadline_of_substitute(queue, op);
}

BOOST_FIXTURE_TEST_CASE(equal_policies_that_were_made_apart_share_a_batch, fixture) {
    ask("a");
    ask("b", {}, policy{"p", gcra(100, 1s)});
    BOOST_TEST(write_calls().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(calls_of_different_clocks_do_not_share_a_batch, fixture) {
    ask("a", {.now = 1'000});
    ask("b", {.now = 1'000});
    ask("c", {.now = 2'000});
    ask("d");
    const auto sent = write_calls();
    BOOST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0].clock == "1000");
    BOOST_TEST(sent[0].keys.size() == 2U);
    BOOST_TEST(sent[1].clock == "2000");
    BOOST_TEST(sent[2].clock == "");
}

BOOST_FIXTURE_TEST_CASE(keys_carry_the_prefix_and_the_least_time_to_live_is_sent, fixture) {
    auto bench = script_queue_bench{{.prefix = "mine", .minimum_ttl_ms = 5'000}};
    auto op = fake_operation{};
    BOOST_REQUIRE(!bench.submit(op, "a", rules));
    const auto sent = bench.write_calls().at(0);
    BOOST_TEST(sent.keys[0].starts_with("mine:{"));
    BOOST_TEST(sent.min_key_ttl == "5000");
    bench.queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(a_full_batch_is_followed_by_another_and_the_rest_waits, small) {
    for (const auto* key : {"a", "b", "c", "d", "e"})
        ask(key);
    BOOST_TEST(write_calls().size() == 2U);
    BOOST_TEST(!queue.wants_to_write());
    BOOST_TEST(write() == "");
}

BOOST_FIXTURE_TEST_CASE(while_batches_fly_the_next_one_fills, small) {
    auto server = script_double{rules};
    ask("a");
    const auto first = write_calls().at(0);
    ask("b");
    const auto second = write_calls().at(0);
    ask("c");
    BOOST_TEST(!queue.wants_to_write());
    ask("d");
    BOOST_TEST((reply(server.answer(first).bytes()) == redis::recovery::keep));
    BOOST_TEST(queue.wants_to_write());
    BOOST_TEST(write_calls().at(0).keys.size() == 2U);
    BOOST_TEST((reply(server.answer(second).bytes()) == redis::recovery::keep));
}

BOOST_AUTO_TEST_CASE(a_call_joins_its_key_in_whichever_waiting_batch_has_it) {
    auto f = fixture{{.prefix = "t", .batch_size = 2, .batches_in_flight = 2}};
    auto server = script_double{rules};
    for (const auto* key : {"a", "b", "c", "d", "e"})
        f.ask(key);
    auto& joined = f.ask("b");
    f.ask("c", {}, others); // another limit
    const auto sent = f.write_calls();
    BOOST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(sent[0].keys.size() == 2U);
    BOOST_TEST(sent[0].calls.size() == 3U);
    BOOST_TEST(sent[1].calls.size() == 2U);
    f.ask("b"); // those have left
    f.ask("e", {.now = 1'000});
    BOOST_TEST((f.reply(server.answer(sent[0]).bytes()) == redis::recovery::keep));
    BOOST_TEST((f.take_done() == std::vector<detail::operation*>{&f.ops[0], &f.ops[1], &joined}));
    BOOST_TEST(joined.result.remaining == 98);
    BOOST_TEST((f.reply(server.answer(sent[1]).bytes()) == redis::recovery::keep));
    const auto rest = f.write_calls();
    BOOST_REQUIRE(rest.size() == 2U);
    BOOST_TEST(rest[0].keys.size() == 2U); // e, b
    BOOST_TEST(rest[0].calls.size() == 2U);
    BOOST_TEST(rest[1].keys.size() == 1U);
    f.queue.fail_all(errc::closed);
}

BOOST_AUTO_TEST_CASE(a_call_overtakes_no_earlier_one_for_its_key) {
    auto f = fixture{{.prefix = "t", .batch_size = 2, .batches_in_flight = 1}};
    const auto many = policy{"p", gcra(2'000, 1h)};
    auto server = script_double{many};
    const auto a_batch = std::size_t{1'024}; // has no more calls than that
    f.ask("b", {}, many);
    f.ask("a", {}, many);
    f.ask("c", {}, many);
    for (std::size_t i = 2; i < a_batch; ++i)
        f.ask("a", {}, many);
    auto& behind_c = f.ask("a", {}, many);
    auto& behind_that = f.ask("a", {}, many);
    const auto first = f.write_calls().at(0);
    BOOST_TEST(first.calls.size() == a_batch);
    BOOST_TEST((f.reply(server.answer(first).bytes()) == redis::recovery::keep));
    const auto second = f.write_calls().at(0);
    BOOST_TEST(second.keys.size() == 2U);
    BOOST_TEST(second.calls.size() == 3U);
    BOOST_TEST((f.reply(server.answer(second).bytes()) == redis::recovery::keep));
    BOOST_TEST(behind_c.result.remaining == 2'000 - 1'024);
    BOOST_TEST(behind_that.result.remaining == 2'000 - 1'025);
}

BOOST_FIXTURE_TEST_CASE(calls_come_back_in_the_order_in_which_they_came, fixture) {
    auto server = script_double{rules};
    auto asked = std::vector<detail::operation*>{};
    for (const auto* key : {"a", "b", "a", "c", "b", "a"})
        asked.push_back(&ask(key));
    BOOST_TEST((reply(server.answer(write_calls().at(0)).bytes()) == redis::recovery::keep));
    BOOST_TEST((take_done() == asked));
    BOOST_TEST(ops[0].result.remaining == 99);
    BOOST_TEST(ops[2].result.remaining == 98);
    BOOST_TEST(ops[5].result.remaining == 97);
    BOOST_TEST(queue.size() == 0U);
    BOOST_TEST(!queue.expects_reply());
    BOOST_TEST(!queue.next_deadline().has_value());
}

BOOST_FIXTURE_TEST_CASE(one_call_above_the_bound_is_refused_until_another_has_ended, small) {
    auto server = script_double{rules};
    for (int i = 0; i < 8; ++i)
        ask(std::to_string(i));
    auto op = fake_operation{};
    BOOST_TEST((submit(op, "x", rules) == errc::too_many_in_flight));
    BOOST_TEST(!op.is_held);
    BOOST_TEST((reply(server.answer(write_calls().at(0)).bytes()) == redis::recovery::keep));
    BOOST_TEST(!submit(op, "x", rules));
    queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(the_limiters_own_calls_may_be_as_many_again, small) {
    for (int i = 0; i < 8; ++i)
        ask(std::to_string(i));
    for (int i = 0; i < 9; ++i) {
        auto& own = ops.emplace_back();
        own.kind = detail::call_kind::release;
        const auto room = i < 8;
        BOOST_TEST((submit(own, "x", rules) ==
                    (room ? error_code{} : error_code{errc::too_many_in_flight})));
    }
    auto op = fake_operation{};
    BOOST_TEST((submit(op, "x", rules) == errc::too_many_in_flight));
    queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(those_who_gave_up_before_anything_left_make_room, small) {
    for (int i = 0; i < 8; ++i)
        ask(std::to_string(i));
    for (auto& op : ops)
        queue.withdraw(op, boost::asio::error::operation_aborted);
    BOOST_TEST(take_done().size() == 8U);
    ask("x");
    BOOST_TEST(write_calls().at(0).keys.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(those_who_gave_up_on_what_flies_make_no_room, small) {
    for (int i = 0; i < 4; ++i)
        ask(std::to_string(i));
    (void)write();
    for (auto& op : ops)
        queue.withdraw(op, boost::asio::error::operation_aborted);
    for (int i = 0; i < 4; ++i)
        ask(std::to_string(i));
    auto op = fake_operation{};
    BOOST_TEST((submit(op, "x", rules) == errc::too_many_in_flight));
}

BOOST_FIXTURE_TEST_CASE(a_call_withdrawn_before_it_left_is_not_made, fixture) {
    auto& gone = ask("a");
    ask("b");
    queue.withdraw(gone, boost::asio::error::operation_aborted);
    BOOST_TEST(gone.ended(boost::asio::error::operation_aborted));
    const auto sent = write_calls().at(0);
    BOOST_TEST(sent.keys.size() == 1U);
    BOOST_TEST(sent.keys[0].ends_with(":b"));
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_all_left_is_not_sent, fixture) {
    auto& gone = ask("a");
    queue.withdraw(gone, boost::asio::error::operation_aborted);
    BOOST_TEST(write() == "");
    BOOST_TEST(!queue.expects_reply());
    BOOST_TEST(queue.size() == 0U);
    ask("a");
    BOOST_TEST(write_calls().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_call_withdrawn_after_it_left_ends_at_once_and_its_reply_is_read,
                        fixture) {
    auto server = script_double{rules};
    auto& gone = ask("a");
    auto& stays = ask("b");
    const auto sent = write_calls().at(0);
    queue.withdraw(gone, boost::asio::error::operation_aborted);
    BOOST_TEST((take_done() == std::vector<detail::operation*>{&gone}));
    BOOST_TEST((reply(server.answer(sent).bytes()) == redis::recovery::keep));
    BOOST_TEST((take_done() == std::vector<detail::operation*>{&stays}));
    BOOST_TEST(gone.ended(boost::asio::error::operation_aborted));
    BOOST_TEST(stays.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(deadlines_pass_one_after_another, fixture) {
    auto& first = ask("a");
    auto& second = ask("b");
    first.deadline = 100;
    second.deadline = 200;
    BOOST_TEST(queue.next_deadline().value() == 100);
    queue.expire(99, errc::deadline_exceeded);
    BOOST_TEST(queue.done.empty());
    queue.expire(100, errc::deadline_exceeded);
    BOOST_TEST(first.ended(errc::deadline_exceeded));
    BOOST_TEST(queue.next_deadline().value() == 200);
    queue.expire(1'000, errc::unavailable);
    BOOST_TEST(second.ended(errc::unavailable));
    BOOST_TEST(queue.size() == 0U);
    BOOST_TEST(write() == "");
}

BOOST_FIXTURE_TEST_CASE(a_deadline_after_the_bytes_left_is_outcome_unknown_unless_it_only_asked,
                        fixture) {
    auto& charges = ask("a");
    auto& asks = ask("a", {.verb = core::verb::peek});
    (void)write();
    queue.expire(2'000'000, errc::deadline_exceeded);
    BOOST_TEST(charges.ended(errc::outcome_unknown));
    BOOST_TEST(asks.ended(errc::deadline_exceeded));
    BOOST_TEST(queue.expects_reply());
}

BOOST_FIXTURE_TEST_CASE(what_is_not_sent_can_expire_while_what_is_sent_waits_for_its_reply,
                        fixture) {
    auto server = script_double{rules};
    auto& sent = ask("a");
    const auto first = write_calls().at(0);
    auto& late = ask("b");
    auto& in_time = ask("c");
    sent.deadline = 100;
    late.deadline = 200;
    in_time.deadline = 300;
    BOOST_TEST(!queue.expire_unsent(199));
    BOOST_TEST(queue.done.empty());
    BOOST_TEST(queue.expire_unsent(200));
    BOOST_TEST(late.ended(errc::deadline_exceeded));
    BOOST_TEST(take_done().size() == 1U);
    const auto second = write_calls();
    BOOST_REQUIRE(second.size() == 1U);
    BOOST_TEST(second[0].keys.size() == 1U);
    BOOST_TEST((reply(server.answer(first).bytes()) == redis::recovery::keep));
    BOOST_TEST((reply(server.answer(second[0]).bytes()) == redis::recovery::keep));
    BOOST_TEST(sent.is_allowed());
    BOOST_TEST(in_time.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(there_is_a_backlog_as_long_as_more_than_one_batch_waits, small) {
    ask("a");
    ask("b");
    BOOST_TEST(!queue.has_backlog());
    for (const auto* key : {"c", "d", "e", "f", "g"})
        ask(key);
    BOOST_TEST(queue.has_backlog());
    BOOST_TEST(write_calls().size() == 2U);
    BOOST_TEST(queue.has_backlog());
    queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(cancelled_calls_make_room_behind_one_that_waits, small) {
    for (const auto* key : {"a", "b", "c", "d", "e", "f", "g", "h"})
        ask(key);
    auto one_more = fake_operation{};
    BOOST_TEST((submit(one_more, "i", rules) == errc::too_many_in_flight));
    for (std::size_t i = 2; i < 8; ++i)
        queue.withdraw(ops[i], boost::asio::error::operation_aborted);
    BOOST_TEST(take_done().size() == 6U);
    for (const auto* key : {"i", "j", "k", "l", "m", "n"})
        ask(key);
    BOOST_TEST((submit(one_more, "o", rules) == errc::too_many_in_flight));
    auto server = script_double{rules};
    for (auto sent = write_calls(); !sent.empty(); sent = write_calls())
        for (const auto& call : sent)
            BOOST_TEST((reply(server.answer(call).bytes()) == redis::recovery::keep));
    BOOST_TEST(server.calls() == 4);
    for (std::size_t i = 0; i < ops.size(); ++i)
        BOOST_TEST(ops[i].is_allowed() == (i < 2 || i >= 8));
    BOOST_TEST(queue.size() == 0U);
}

/// Looking for them costs less than they did.
BOOST_FIXTURE_TEST_CASE(a_few_cancelled_batches_among_many_are_not_looked_for, fixture) {
    auto bench = script_queue_bench{{.prefix = "t", .batch_size = 1, .max_in_flight = 100}};
    for (auto i = 0; i < 100; ++i)
        BOOST_REQUIRE(!bench.submit(ops.emplace_back(), "k" + std::to_string(i), rules));
    auto more = std::deque<fake_operation>(7);
    for (std::size_t i = 0; i < 7; ++i) {
        const auto full = bench.submit(more[i], "new" + std::to_string(i), rules);
        BOOST_TEST(full == (i < 6 ? error_code{errc::too_many_in_flight} : error_code{}));
        if (i < 6)
            bench.queue.withdraw(ops[10 * i + 5], boost::asio::error::operation_aborted);
        if (i == 5)
            bench.queue.withdraw(ops[99], boost::asio::error::operation_aborted);
    }
    BOOST_TEST(bench.queue.size() == 94U);
    bench.queue.fail_all(errc::closed);
}

BOOST_FIXTURE_TEST_CASE(cancelled_batches_in_flight_do_not_count_among_those_that_wait, fixture) {
    auto bench = script_queue_bench{
        {.prefix = "t", .batch_size = 1, .batches_in_flight = 7, .max_in_flight = 100}};
    for (auto i = 0; i < 100; ++i)
        BOOST_REQUIRE(!bench.submit(ops.emplace_back(), "k" + std::to_string(i), rules));
    (void)bench.write();
    for (const auto i : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 50U})
        bench.queue.withdraw(ops[i], boost::asio::error::operation_aborted);
    auto one_more = fake_operation{};
    BOOST_TEST((bench.submit(one_more, "new", rules) == errc::too_many_in_flight));
    bench.queue.fail_all(errc::closed);
}

/// A call with a time of its own shares a batch with no other. Many of them wait while a server
/// stands still, and never again.
BOOST_AUTO_TEST_CASE(calls_that_share_no_batch_take_little_memory_and_return_most_of_it) {
    constexpr std::size_t count = 5'000;
    constexpr std::size_t most_per_call = 3'000;
    constexpr std::size_t most_kept = 1'000'000;
    auto bench = script_queue_bench{};
    auto ops = std::deque<fake_operation>{};
    for (std::size_t i = 0; i < count; ++i)
        ops.emplace_back(detail::call_request{.now = std::int64_t(i)});
    const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    const auto before = in_use();
    for (auto& op : ops)
        BOOST_REQUIRE(!bench.submit(op, "key", rules));
    BOOST_TEST_MESSAGE((in_use() - before) / count << " bytes per call");
    BOOST_TEST(in_use() - before <= count * most_per_call);
    bench.queue.fail_all(errc::closed);
    (void)bench.write(); // drops what has no callers
    BOOST_TEST(in_use() - before <= most_kept);
    BOOST_TEST(bench.take_done().size() == count);
    BOOST_TEST(bench.queue.size() == 0U);
}

/// The index of a batch grows with its keys.
BOOST_AUTO_TEST_CASE(a_batch_that_grows_finds_each_of_its_keys) {
    auto f = fixture{{.prefix = "t", .batch_size = 300, .batches_in_flight = 1}};
    for (auto i = 0; i < 3; ++i) // more than are made with room for all
        f.ask("k", {.now = i + 1});
    for (auto round = 0; round < 2; ++round)
        for (auto i = 0; i < 300; ++i)
            f.ask("key" + std::to_string(i));
    auto largest = std::size_t{0};
    for (auto sent = f.write_calls(); !sent.empty(); sent = f.write_calls())
        for (const auto& call : sent) {
            largest = std::max(largest, call.keys.size());
            if (call.keys.size() == 300)
                BOOST_TEST(call.calls.size() == 600U);
            BOOST_TEST((f.reply("-ERR\r\n") == redis::recovery::keep));
        }
    BOOST_TEST(largest == 300U);
}

BOOST_AUTO_TEST_SUITE_END()

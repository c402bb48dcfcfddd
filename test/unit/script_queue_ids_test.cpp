// SPDX-License-Identifier: BSL-1.0
//
// Calls with ids in the queue: which batch they join, that they are made again after a lost
// connection, and how they end then.

#include <base/bytes.hpp>
#include <core/call_fault.hpp>
#include <core/request_record.hpp>
#include <support/resp_text.hpp>
#include <support/script_queue_bench.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/error.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(script_queue_ids)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using detail::fault;
using test::fake_operation;
using test::script_queue_bench;

const auto rules = policy{"p", gcra(100, 1h)};
constexpr auto now = std::int64_t{1'700'000'000'000'000};

struct fixture : script_queue_bench {
    fixture() : script_queue_bench({.prefix = "t", .batch_size = 4, .batches_in_flight = 3}) {}

    fake_operation& ask(std::string_view key, std::string_view id = "",
                        detail::call_request q = {}) {
        q.has_id = !id.empty();
        q.id = id;
        auto& op = ops.emplace_back(q);
        BOOST_REQUIRE(!submit(op, key, rules));
        return op;
    }

    void lose_connection() {
        queue.lose_connection(position);
        position = 0;
        queue.begin_connection({});
    }

    std::deque<fake_operation> ops;
};

/// Returns a reply to a batch: a value (nullopt for nil) per call.
[[nodiscard]] std::string reply_of(const std::vector<std::optional<std::string>>& values,
                                   std::string_view nonce, int granted, std::string_view statuses) {
    auto out = "*" + std::to_string(values.size() + 1) + "\r\n";
    for (const auto& v : values)
        out += v ? "$" + std::to_string(v->size()) + "\r\n" + *v + "\r\n" : "$-1\r\n";
    const auto header = std::string{nonce} + " 1700000000 0 " + std::to_string(granted) + " " +
                        std::string{statuses};
    return out + "$" + std::to_string(header.size()) + "\r\n" + header + "\r\n";
}

[[nodiscard]] std::string record_of(core::request_record r = {}) {
    if (r.digests == core::call_digests{})
        r.digests.policy = detail::access::data(rules)->version;
    r.cost = r.cost == 0 ? 1 : r.cost;
    r.at_least = r.at_least == 0 ? r.cost : r.at_least;
    r.now = now;
    auto bytes = std::string{};
    core::append_record(bytes, r);
    return bytes;
}

/// The words of the only script call that is written now.
[[nodiscard]] std::vector<std::string> call_of(script_queue_bench& f) {
    const auto calls = test::commands_of(f.write());
    BOOST_REQUIRE(calls.size() == 1U);
    return calls.front();
}

/// The nonce, in words of which the numbers of keys and their names come first.
[[nodiscard]] std::string nonce_of(const std::vector<std::string>& words) {
    return words.at(3 + std::stoul(words.at(2)) + 1);
}

} // namespace

BOOST_FIXTURE_TEST_CASE(calls_with_ids_and_without_share_no_batch, fixture) {
    ask("a");
    ask("a", "1");
    ask("b");
    ask("a", "2");
    const auto calls = test::commands_of(write());
    BOOST_REQUIRE(calls.size() == 2U);
    BOOST_TEST(calls[0].at(2) == "2"); // a, b
    BOOST_TEST(calls[1].at(2) == "4"); // a, a, and two records
    BOOST_TEST(calls[1].at(3) == calls[1].at(4));
    BOOST_TEST(calls[1].at(5) != calls[1].at(6));
    BOOST_TEST(calls[1].at(5).find(":p:r:") != std::string::npos);
    BOOST_TEST(calls[0].at(3 + 2 + 3) == "0");
    BOOST_TEST(calls[1].at(3 + 4 + 3) == "0 300000");
    BOOST_TEST(calls[1].at(3 + 4 + 4).size() == 2U * (21 + 16));
}

BOOST_FIXTURE_TEST_CASE(a_batch_with_ids_is_full_with_as_many_calls_as_others_with_keys, fixture) {
    for (const auto* id : {"1", "2", "3", "4", "5"})
        ask("a", id);
    const auto calls = test::commands_of(write());
    BOOST_REQUIRE(calls.size() == 2U);
    BOOST_TEST(calls[0].at(2) == "8");
    BOOST_TEST(calls[1].at(2) == "2");
}

BOOST_FIXTURE_TEST_CASE(a_known_call_gets_the_decision_of_its_record, fixture) {
    const auto& first = ask("a", "1");
    const auto& known = ask("a", "2");
    const auto words = call_of(*this);
    BOOST_TEST((reply(reply_of({std::nullopt, record_of()}, nonce_of(words), 1, ".r")) ==
                redis::recovery::keep));
    BOOST_TEST(first.is_allowed());
    BOOST_TEST(known.is_allowed());
    BOOST_TEST((known.result == first.result)); // at the same time, of an empty state
}

BOOST_FIXTURE_TEST_CASE(another_call_with_the_same_id_is_refused, fixture) {
    const auto check = [this](const core::request_record& r, fault expected) {
        auto& op = ask("a", "1", {.verb = detail::verb::allow, .cost = 3, .at_least = 2});
        const auto words = call_of(*this);
        (void)reply(reply_of({record_of(r)}, nonce_of(words), 0, "r"));
        BOOST_TEST((op.ec == errc::invalid_argument), op.ec.message());
        BOOST_TEST(op.ec.message() == detail::text_of(expected));
    };
    using detail::verb;
    check({.verb = verb::charge, .cost = 3, .at_least = 2}, fault::other_verb);
    check({.cost = 4, .at_least = 2}, fault::other_cost);
    check({.cost = 3, .at_least = 3}, fault::other_at_least);
    check({.cost = 3, .at_least = 2, .digests = {.policy = 1}}, fault::other_policy);
    check({.cost = 3,
           .at_least = 2,
           .digests = {.policy = detail::access::data(rules)->version, .member = 1}},
          fault::other_member);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_a_record_is_a_conflict, fixture) {
    for (const auto& bytes : {std::string{}, std::string{"r"}, std::string(43, 'r')}) {
        const auto& op = ask("a", "1");
        const auto words = call_of(*this);
        (void)reply(reply_of({bytes}, nonce_of(words), 0, "r"));
        BOOST_TEST(op.ended(errc::key_conflict));
    }
}

BOOST_FIXTURE_TEST_CASE(the_reply_to_calls_without_ids_has_no_records, fixture) {
    const auto& op = ask("a");
    const auto words = call_of(*this);
    (void)reply(reply_of({record_of()}, nonce_of(words), 0, "r"));
    BOOST_TEST(!op.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_ends_calls_without_ids_only, fixture) {
    const auto& plain = ask("a");
    const auto& with_id = ask("a", "1");
    const auto sent = test::commands_of(write());
    BOOST_REQUIRE(sent.size() == 2U);
    lose_connection();
    BOOST_TEST(plain.ended(errc::outcome_unknown));
    BOOST_TEST(with_id.is_held);
    const auto words = call_of(*this);
    BOOST_TEST(words == sent[1], boost::test_tools::per_element());
    (void)reply(reply_of({record_of()}, nonce_of(words), 0, "r"));
    BOOST_TEST(with_id.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(they_are_made_again_before_those_that_were_never_sent, fixture) {
    for (auto i = 0; i < 16; ++i)
        ask("k" + std::to_string(i), "1");
    const auto first = test::commands_of(write());
    BOOST_REQUIRE(first.size() == 3U);
    lose_connection();
    const auto again = test::commands_of(write());
    BOOST_REQUIRE(again.size() == 3U);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(again[i] == first[i], boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(at_the_deadline_the_outcome_of_what_was_sent_is_unknown, fixture) {
    const auto& was_sent = ask("a", "1");
    (void)write();
    lose_connection();
    const auto& never_sent = ask("b", "1");
    BOOST_TEST(queue.expire_unsent(1'000'000));
    BOOST_TEST(was_sent.ended(errc::outcome_unknown));
    BOOST_TEST(never_sent.ended(errc::deadline_exceeded));
    BOOST_TEST(test::commands_of(write()).empty());
}

BOOST_FIXTURE_TEST_CASE(an_error_of_the_server_does_not_say_that_nothing_was_charged, fixture) {
    const auto& op = ask("a", "1");
    (void)write();
    lose_connection();
    const auto& other = ask("b", "1");
    (void)write();
    constexpr std::string_view full =
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    (void)reply(full);
    (void)reply(full);
    BOOST_TEST(op.ended(errc::outcome_unknown));
    BOOST_TEST(other.ended(errc::server_error));
}

BOOST_FIXTURE_TEST_CASE(nor_does_the_error_of_a_key, fixture) {
    const auto& op = ask("a", "1");
    (void)write();
    lose_connection();
    const auto again = call_of(*this);
    const auto full = std::string{"OOM command not allowed when used memory > 'maxmemory'."};
    (void)reply(reply_of({full}, nonce_of(again), 0, "e"));
    BOOST_TEST(op.ended(errc::outcome_unknown));
    const auto& other = ask("b", "1");
    const auto first = call_of(*this);
    (void)reply(reply_of({full}, nonce_of(first), 0, "e"));
    BOOST_TEST(other.ended(errc::server_error));
}

BOOST_FIXTURE_TEST_CASE(but_the_record_of_another_call_does, fixture) {
    const auto& op = ask("a", "1");
    (void)write();
    lose_connection();
    const auto again = call_of(*this);
    (void)reply(reply_of({record_of({.cost = 4})}, nonce_of(again), 0, "r"));
    BOOST_TEST((op.ec == errc::invalid_argument), op.ec.message());
}

BOOST_FIXTURE_TEST_CASE(an_error_that_leaves_the_outcome_open_is_asked_about_once, fixture) {
    const auto& op = ask("a", "1");
    const auto first = call_of(*this);
    constexpr std::string_view broken = "-ERR Error running script: user_script:1: no reason\r\n";
    (void)reply(broken);
    BOOST_TEST(op.is_held);
    BOOST_TEST(call_of(*this) == first, boost::test_tools::per_element());
    (void)reply(broken);
    BOOST_TEST(op.ended(errc::outcome_unknown));
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_call_is_not_made_again, fixture) {
    auto& cancelled = ask("a", "1");
    const auto& other = ask("b", "1");
    (void)write();
    BOOST_TEST(redis::call_queue::is_sent(cancelled));
    lose_connection();
    BOOST_TEST(redis::call_queue::is_sent(cancelled)); // it may have been executed
    queue.withdraw(cancelled, boost::asio::error::operation_aborted);
    const auto words = call_of(*this);
    BOOST_TEST(words.at(2) == "2"); // b, and its record
    (void)reply(reply_of({std::nullopt}, nonce_of(words), 1, "-"));
    BOOST_TEST(other.is_allowed());
}

BOOST_AUTO_TEST_SUITE_END()

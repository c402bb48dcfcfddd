// SPDX-License-Identifier: BSL-1.0
//
// Calls that a batch makes for leases: further calls equal to the one that asks.

#include <core/allow_times.hpp>
#include <redis/protocol/resp.hpp>
#include <redis/script/script_batch.hpp>
#include <support/fake_operation.hpp>
#include <support/rng.hpp>
#include <support/script_double.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(lease_batches)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using core::verb;
using test::fake_operation;
using test::script_call;

const auto ten = policy{"p", gcra(10, 1s)};

struct fixture {
    fixture() { batch.start(detail::access::data(ten), detail::store_clock, 7); }

    fake_operation& add(std::string_view key, std::uint32_t further = 0,
                        detail::call_request q = {}) {
        auto& op = ops.emplace_back(q);
        op.lease.further_calls = further;
        batch.add(op, "t", key);
        return op;
    }
    [[nodiscard]] test::command encode() {
        auto out = std::string{};
        batch.encode(out, "0");
        return test::commands_of(std::move(out)).at(0);
    }
    /// The calls, in the encoding of ARGV[5].
    [[nodiscard]] std::string encoded_calls() { return encode().back(); }
    /// Lets the script decide the batch.
    void answer() {
        const auto bytes = server.answer(encode());
        auto reader = redis::resp::decoder{};
        BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
        BOOST_REQUIRE(batch.read_reply(reader, bytes).has_value());
        BOOST_TEST(!batch.failure.has_value());
        release();
    }
    void release() {
        batch.release([](detail::operation& op) { op.is_held = false; });
    }

    redis::script_batch batch{3};
    std::deque<fake_operation> ops;
    test::script_double server{ten};
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_lease_is_a_number_of_calls, fixture) {
    auto& op = add("a", 3);
    add("b");
    BOOST_TEST(encoded_calls() == "\x04\x01");
    BOOST_TEST(batch.sent().calls == 2U); // those of callers
    BOOST_TEST(batch.sent().entries == 2U);
    batch.take_back();
    answer();
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(op.result.remaining == 9);
    BOOST_TEST(op.lease.granted == 3);
    BOOST_TEST(ops[1].lease.granted == 0);
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_what_fits, fixture) {
    auto& op = add("a", 30);
    answer();
    BOOST_TEST(op.is_allowed());
    BOOST_TEST(op.lease.granted == 9);
}

BOOST_FIXTURE_TEST_CASE(it_takes_nothing_from_calls_of_the_same_batch, fixture) {
    auto& op = add("a", 30);
    for (auto i = 0; i < 7; ++i)
        add("a");
    answer();
    for (const auto& one : ops) {
        BOOST_TEST(one.is_allowed());
        BOOST_TEST(one.lease.granted == 2); // it comes after all of them
    }
    BOOST_TEST(op.result.remaining == 9);
    BOOST_TEST(ops.back().result.remaining == 2);
}

BOOST_FIXTURE_TEST_CASE(it_precedes_other_calls_that_come_later, fixture) {
    auto& op = add("a", 4, {.cost = 2, .at_least = 2});
    auto& peek = add("a", 0, {.verb = verb::peek});
    auto& last = add("a", 0, {.cost = 2, .at_least = 2});
    BOOST_TEST(encoded_calls().size() == 3 * 21U);
    batch.take_back();
    answer();
    BOOST_TEST(op.lease.granted == 4);
    BOOST_TEST(peek.lease.granted == 0);
    BOOST_TEST(!peek.is_allowed());
    BOOST_TEST(!last.is_allowed());
}

BOOST_FIXTURE_TEST_CASE(a_withdrawn_call_takes_its_lease_along, fixture) {
    auto& op = add("a", 3);
    auto& other = add("a");
    batch.drop(op.index);
    BOOST_TEST(encoded_calls() == "");
    batch.take_back();
    answer();
    BOOST_TEST(other.result.remaining == 9);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_is_cancelled_in_flight_has_taken_its_lease, fixture) {
    auto& op = add("a", 3);
    add("a");
    auto out = std::string{};
    batch.encode(out, "0");
    batch.drop(op.index);
    const auto bytes = server.answer(test::commands_of(std::move(out)).at(0));
    auto reader = redis::resp::decoder{};
    BOOST_REQUIRE((reader.feed(bytes) == redis::resp::progress::complete));
    BOOST_REQUIRE(batch.read_reply(reader, bytes).has_value());
    BOOST_TEST(!batch.failure.has_value());
    BOOST_TEST(op.lease.granted == 0);
    release();
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_is_sent_again_has_granted_nothing_before, fixture) {
    auto& op = add("a", 3);
    (void)encode();
    op.lease.granted = 3;
    batch.take_back();
    BOOST_TEST(op.lease.granted == 0);
    batch.drop(op.index);
    release();
}

BOOST_FIXTURE_TEST_CASE(a_moved_call_takes_its_lease_along, fixture) {
    auto& op = add("a", 3);
    auto to = redis::script_batch{3};
    to.start(detail::access::data(ten), detail::store_clock, 8);
    batch.move_calls([&](std::size_t, std::uint32_t) -> auto& { return to; }, [] {});
    auto out = std::string{};
    to.encode(out, "0");
    BOOST_TEST(test::commands_of(std::move(out)).at(0).back() == "\x04");
    to.drop(op.index);
}

BOOST_FIXTURE_TEST_CASE(the_calls_of_a_key_fit_16_bits, fixture) {
    for (auto i = 0; i < 5; ++i)
        add("a", 16'384);
    BOOST_TEST(script_call{encode()}.calls.size() == 32'768U + 5);
    release();
}

BOOST_AUTO_TEST_CASE(calls_in_the_time_of_one_are_those_in_sequence) {
    auto random = test::rng{1};
    for (const auto& r :
         {gcra(10, 1s), token_bucket(50, 7, 3s).stepwise(), token_bucket(50, 7, 3s).aligned(),
          fixed_window(30, 2s), fixed_window(30, 2s).from_first(), sliding_window(30, 2s),
          calendar(40, calendar_unit::day)}) {
        // Of one version of a policy and another one, whose states both read.
        const policy versions[] = {
            policy{"p", r, gcra(40, 1s).named("b")},
            policy{"p", is_bucket(r.kind()) ? r.burst(5) : r, gcra(90, 1s).named("b")}};
        auto one = core::key_state{};
        auto now = std::int64_t{1'700'000'000'000'000};
        for (auto i = 0; i < 300; ++i) {
            now += random.between(0, 500'000);
            const auto& rules = detail::access::data(versions[random.below(2)])->compiled;
            const auto cost = random.between(1, 3);
            const auto request = detail::call_request{.cost = cost, .at_least = cost, .now = now};
            const auto times = random.between(1, 12);
            auto both = one;
            auto granted = std::int64_t{0};
            auto result = decision{};
            for (auto n = times; n > 0; --n) {
                (void)core::evaluate(rules, one, request, result);
                granted += result.allowed() ? 1 : 0;
            }
            BOOST_TEST(core::allow_times(rules, both, request, times) == granted);
            BOOST_TEST((both.states == one.states), to_string(r) << ", step " << i);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

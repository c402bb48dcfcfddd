// SPDX-License-Identifier: BSL-1.0
//
// Cancelling a call: before its bytes are sent it is not made, afterwards its reply is ignored; and
// a call that has ended is not cancelled any more.

#include <colimit/limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <vector>

BOOST_AUTO_TEST_SUITE(cancellation)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

const auto five = policy{"five", gcra(5, 1h)};
const auto all_types = {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                        asio::cancellation_type::total};

/// A server that answers a script call when the test says so.
struct fixture {
    asio::io_context context;
    test::script_double script{five};
    std::vector<test::script_call> seen;
    bool answers = true;
    test::scripted_peer peer{context, [this](test::peer_connection& c) { return converse(c); }};
    colimit::limiter limiter{context.get_executor(), settings()};
    int ended = 0;
    std::optional<error_code> code;

    config settings() {
        auto c = config{};
        c.server = peer.address();
        c.timeout = 30s;
        c.advanced.ping_interval = 0ms; // only what the test asks for is sent
        return c;
    }

    asio::awaitable<void> converse(test::peer_connection& c) {
        co_await c.greet();
        for (;;) {
            const auto words = co_await c.next();
            seen.emplace_back(words);
            co_await test::until([this] { return answers; });
            const auto answer = script.answer(words);
            co_await c.send(answer);
        }
    }

    void allow(std::string_view key, asio::cancellation_signal& signal) {
        limiter.allow(key, five,
                      asio::bind_cancellation_slot(signal.slot(), [this](error_code ec, decision) {
                          ++ended;
                          code = ec;
                      }));
    }

    /// Returns whether calls work, and how many tokens are left for the key.
    std::int64_t left(std::string_view key) {
        auto remaining = std::int64_t{-1};
        test::run(context, [&]() -> asio::awaitable<void> {
            const auto d = co_await limiter.peek(key, five);
            remaining = d.remaining;
        });
        return remaining;
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(before_the_bytes_left_every_type_ends_the_call_and_takes_no_quota,
                        fixture) {
    BOOST_TEST(left("k") == 5);
    for (const auto type : all_types) {
        auto signal = asio::cancellation_signal{};
        ended = 0;
        allow("k", signal);
        signal.emit(type);
        BOOST_TEST(ended == 0);
        test::run_until(context, [&] { return ended != 0; });
        BOOST_TEST((code.value() == asio::error::operation_aborted));
        BOOST_TEST(left("k") == 5);
        BOOST_TEST(ended == 1);
    }
}

BOOST_FIXTURE_TEST_CASE(before_there_is_a_connection_too, fixture) {
    auto signal = asio::cancellation_signal{};
    allow("k", signal);
    signal.emit(asio::cancellation_type::terminal);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
    BOOST_TEST(left("k") == 5);
}

BOOST_FIXTURE_TEST_CASE(after_the_bytes_left_terminal_and_partial_end_the_call_at_once, fixture) {
    using asio::cancellation_type;
    auto charged = 0;
    for (const auto type :
         {cancellation_type::terminal, cancellation_type::partial,
          cancellation_type::total | cancellation_type::partial, cancellation_type::all}) {
        auto signal = asio::cancellation_signal{};
        ended = 0;
        answers = false;
        const auto before = seen.size();
        allow("k", signal);
        test::run_until(context, [&] { return seen.size() > before; });
        signal.emit(type);
        test::run_until(context, [&] { return ended != 0; });
        BOOST_TEST((code.value() == asio::error::operation_aborted));
        answers = true;
        BOOST_TEST(left("k") == 5 - ++charged); // it may be charged, and the next call goes well
        BOOST_TEST(ended == 1);
    }
    BOOST_TEST(peer.connections() == 1);
}

// It promises that there is no effect, which is not known any more.
BOOST_FIXTURE_TEST_CASE(after_the_bytes_left_total_does_nothing, fixture) {
    auto signal = asio::cancellation_signal{};
    answers = false;
    allow("k", signal);
    test::run_until(context, [&] { return !seen.empty(); });
    signal.emit(asio::cancellation_type::total);
    signal.emit(asio::cancellation_type::none);
    context.poll();
    BOOST_TEST(ended == 0);
    answers = true;
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == error_code{}));
    BOOST_TEST(left("k") == 4);
    BOOST_TEST(ended == 1);
}

BOOST_FIXTURE_TEST_CASE(after_the_bytes_left_total_ends_a_peek_because_it_has_no_effect, fixture) {
    auto signal = asio::cancellation_signal{};
    answers = false;
    limiter.peek("k", five,
                 asio::bind_cancellation_slot(signal.slot(), [this](error_code ec, decision) {
                     ++ended;
                     code = ec;
                 }));
    test::run_until(context, [&] { return !seen.empty(); });
    signal.emit(asio::cancellation_type::total);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
    answers = true;
    BOOST_TEST(left("k") == 5);
}

// One check is sent and one is not: cancelling the second alone would be a part of the effect.
BOOST_FIXTURE_TEST_CASE(total_cancels_many_checks_together_or_not_at_all, fixture) {
    auto signal = asio::cancellation_signal{};
    auto checks = std::vector<check_item>{{.key = "a", .policy = five},
                                          {.key = "b", .policy = policy{"other", gcra(5, 1h)}}};
    const auto start = [&] {
        ended = 0;
        limiter.allow_many(checks,
                           asio::bind_cancellation_slot(signal.slot(), [this](error_code ec) {
                               ++ended;
                               code = ec;
                           }));
    };
    start();
    signal.emit(asio::cancellation_type::total);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
    BOOST_TEST(seen.empty());

    answers = false;
    start();
    test::run_until(context, [&] { return !seen.empty(); });
    signal.emit(asio::cancellation_type::total);
    context.poll();
    BOOST_TEST(ended == 0);
    signal.emit(asio::cancellation_type::partial);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
    answers = true;
    BOOST_TEST(left("k") == 5);
}

// One check waits for a connection; the other is one too many, and charged in this process.
BOOST_AUTO_TEST_CASE(total_does_nothing_when_one_of_many_checks_is_decided) {
    auto context = asio::io_context{};
    auto peer =
        test::scripted_peer{context, [](test::peer_connection& c) { return c.stay_silent(); }};
    auto settings = peer.settings();
    settings.timeout = 30s;
    settings.advanced.max_in_flight = 1;
    settings.on_failure = failure_mode::local;
    auto l = limiter{context.get_executor(), settings};
    auto checks =
        std::vector<check_item>{{.key = "a", .policy = five}, {.key = "b", .policy = five}};
    auto signal = asio::cancellation_signal{};
    auto code = std::optional<error_code>{};
    l.allow_many(checks,
                 asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { code = ec; }));
    test::run_until(context, [&] { return checks[1].result.source == decision_source::fallback; });
    BOOST_TEST(checks[1].result.remaining == 4);
    signal.emit(asio::cancellation_type::total);
    context.poll();
    BOOST_TEST(!code.has_value());
    signal.emit(asio::cancellation_type::partial);
    test::run_until(context, [&] { return code.has_value(); });
    BOOST_TEST((*code == asio::error::operation_aborted));
    BOOST_TEST((checks[0].ec == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(one_of_several_calls_of_a_batch_can_go_alone, fixture) {
    auto first = asio::cancellation_signal{};
    auto second = asio::cancellation_signal{};
    BOOST_TEST(left("k") == 5);
    allow("k", first);
    allow("k", second);
    first.emit(asio::cancellation_type::total);
    test::run_until(context, [&] { return ended == 2; });
    BOOST_TEST((code.value() == error_code{}));
    BOOST_TEST(left("k") == 4);
}

BOOST_FIXTURE_TEST_CASE(a_wait_for_ready_can_be_given_up, fixture) {
    auto signal = asio::cancellation_signal{};
    limiter.ready(asio::bind_cancellation_slot(signal.slot(), [this](error_code ec) {
        ++ended;
        code = ec;
    }));
    signal.emit(asio::cancellation_type::terminal);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
    BOOST_TEST(left("k") == 5);
    BOOST_TEST(ended == 1);
}

BOOST_FIXTURE_TEST_CASE(a_call_that_has_been_decided_is_not_cancelled_any_more, fixture) {
    auto local = colimit::limiter{context.get_executor(), "memory:"};
    auto signal = asio::cancellation_signal{};
    local.allow("k", five,
                asio::bind_cancellation_slot(signal.slot(), [this](error_code ec, decision) {
                    ++ended;
                    code = ec;
                }));
    signal.emit(asio::cancellation_type::terminal);
    test::run_until(context, [&] { return ended != 0; });
    signal.emit(asio::cancellation_type::terminal); // nothing is there any more
    BOOST_TEST((code.value() == error_code{}));
    BOOST_TEST(ended == 1);
}

BOOST_FIXTURE_TEST_CASE(cancelling_a_coroutine_ends_the_call_that_it_awaits, fixture) {
    answers = false;
    auto signal = asio::cancellation_signal{};
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await limiter.allow("k", five, asio::as_tuple(asio::deferred));
            code = ec;
            ++ended;
        },
        asio::bind_cancellation_slot(signal.slot(), [](std::exception_ptr) {}));
    test::run_until(context, [&] { return !seen.empty(); });
    signal.emit(asio::cancellation_type::terminal);
    test::run_until(context, [&] { return ended != 0; });
    BOOST_TEST((code.value() == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(of_a_call_and_a_timer_the_first_ends_the_other, fixture) {
    using namespace asio::experimental::awaitable_operators;
    answers = false;
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto first =
            co_await (limiter.allow("k", five, asio::use_awaitable) || test::pause_for(5ms));
        BOOST_TEST(first.index() == 1U);
    });
    answers = true;
    BOOST_TEST(left("k") >= 4);
}

BOOST_AUTO_TEST_SUITE_END()

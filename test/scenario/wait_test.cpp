// SPDX-License-Identifier: BSL-1.0
//
// `wait`: reservations in the future, in order, at their time, and released by cancelled calls.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::wait_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::waiter;
using std::chrono::steady_clock;
using test::live;
using fixture = scenario::store_fixture;

const auto quick = policy{"quick", gcra(1, 50ms).burst(1)};
const auto slow = policy{"slow", gcra(1, 1h).burst(1)};

/// Returns how long the key would take to recover: how much of it is reserved. What was asked
/// before has been answered then.
asio::awaitable<std::chrono::microseconds> owed(live& l, policy p) {
    const auto d = co_await l.limiter.peek("k", p, {.cost = 0});
    co_return d.reset_after;
}

[[nodiscard]] bool is_about(std::chrono::microseconds owed, std::chrono::hours wanted) {
    return owed <= wanted && owed > wanted - 50ms;
}

asio::awaitable<void> check_owed(live& l, std::chrono::hours wanted) {
    const auto found = co_await owed(l, slow);
    BOOST_TEST(is_about(found, wanted), found.count() << " us");
}

constexpr auto in_process = {true, false};

BOOST_AUTO_TEST_SUITE(waiting)

BOOST_DATA_TEST_CASE(callers_of_one_key_are_served_in_their_order_and_never_early, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> { (void)co_await f.l->ready(); });
    const auto start = steady_clock::now();
    auto all = std::vector<std::unique_ptr<waiter>>{};
    for (int i = 0; i < 6; ++i)
        all.push_back(std::make_unique<waiter>(f.l->limiter, "k", quick));
    test::run_until(f.l->context, [&] { return all.back()->is_over(); });
    const auto first = all.front()->d.server_time;
    for (int i = 0; i < 6; ++i) {
        const auto& w = *all[static_cast<std::size_t>(i)];
        BOOST_TEST_REQUIRE(w.was_granted());
        BOOST_TEST((w.d.server_time == first + i * 50ms));
        BOOST_TEST((w.ended - start >= i * 50ms));
        BOOST_TEST((w.ended - start <= i * 50ms + 1ms));
        if (i > 0)
            BOOST_TEST((w.ended >= all[static_cast<std::size_t>(i - 1)]->ended));
    }
}

BOOST_DATA_TEST_CASE(the_decision_is_that_of_the_turn, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto now = co_await f.l->limiter.wait("k", quick);
        BOOST_TEST(now.retry_after.count() == 0);
        const auto d = co_await f.l->limiter.wait("k", quick);
        BOOST_TEST(d.outcome == outcome::allowed);
        BOOST_TEST(d.granted == 1);
        BOOST_TEST(d.remaining == 0);
        BOOST_TEST(d.retry_after.count() == 0);
        BOOST_TEST(d.rules[0].retry_after.count() == 0);
        BOOST_TEST((d.reset_after == 50ms));
        BOOST_TEST((d.server_time == now.server_time + 50ms));
    });
}

BOOST_DATA_TEST_CASE(who_would_wait_too_long_is_refused_at_once_and_charged_nothing, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", slow);
        const auto begun = steady_clock::now();
        const auto d = co_await f.l->limiter.wait("k", slow, {.max_wait = 59min});
        BOOST_TEST((steady_clock::now() - begun <= 1ms));
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST((d.retry_after > 59min));
        co_await check_owed(*f.l, 1h);
        const auto never = co_await f.l->limiter.wait("k", slow, {.cost = 2, .max_wait = 24h});
        BOOST_TEST(never.outcome == outcome::never);
        co_await check_owed(*f.l, 1h);
    });
}

BOOST_DATA_TEST_CASE(who_gives_up_gives_the_place_back_if_it_is_the_last, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        auto& limiter = f.l->limiter;
        (void)co_await limiter.allow("k", slow);
        auto first = waiter{limiter, "k", slow, {.max_wait = 24h}};
        co_await check_owed(*f.l, 2h);
        auto second = waiter{limiter, "k", slow, {.max_wait = 24h}};
        co_await check_owed(*f.l, 3h);
        // A later place was reserved, so this one lapses.
        first.cancel();
        co_await check_owed(*f.l, 3h);
        BOOST_TEST((first.ec == asio::error::operation_aborted));
        second.cancel();
        co_await check_owed(*f.l, 2h);
        BOOST_TEST((second.ec == asio::error::operation_aborted));
        second.cancel(); // twice does nothing
        co_await check_owed(*f.l, 2h);
    });
}

BOOST_DATA_TEST_CASE(who_gives_up_before_anything_was_asked_or_answered_holds_no_place,
                     in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", slow);
        auto w = waiter{f.l->limiter, "k", slow, {.max_wait = 24h}};
        w.cancel();
        co_await test::until([&] { return w.is_over(); });
        BOOST_TEST((w.ec == asio::error::operation_aborted));
        co_await check_owed(*f.l, 1h);
    });
}

// Whether the bytes have left when it is cancelled or not, nothing stays charged.
BOOST_AUTO_TEST_CASE(who_gives_up_while_the_server_thinks_gives_the_place_back) {
    auto f = fixture{false};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", slow);
        f.server->stop();
        auto w = waiter{f.l->limiter, "k", slow, {.max_wait = 24h}};
        co_await test::pause_for(20ms);
        w.cancel();
        co_await test::until([&] { return w.is_over(); });
        BOOST_TEST((w.ec == asio::error::operation_aborted));
        f.server->thaw();
        // The answer to the call comes first, and what it held goes back after it.
        for (auto now = co_await owed(*f.l, slow); !is_about(now, 1h);) {
            BOOST_TEST_REQUIRE(is_about(now, 2h));
            co_await test::pause_for(1ms);
            now = co_await owed(*f.l, slow);
        }
    });
}

BOOST_DATA_TEST_CASE(closing_ends_the_line, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", slow);
        auto one = waiter{f.l->limiter, "k", slow, {.max_wait = 24h}};
        auto other = waiter{f.l->limiter, "k", slow, {.max_wait = 24h}};
        (void)co_await owed(*f.l, slow);
        f.l->limiter.close();
        co_await test::until([&] { return one.is_over() && other.is_over(); });
        BOOST_TEST((one.ec == errc::closed));
        BOOST_TEST((other.ec == errc::closed));
    });
}

BOOST_DATA_TEST_CASE(destroying_the_limiter_ends_the_line, in_process) {
    auto f = fixture{sample};
    auto l = std::optional<limiter>{std::in_place, f.l->context.get_executor(), f.address()};
    auto first = waiter{*l, "k", slow, {.max_wait = 24h}};
    auto second = waiter{*l, "k", slow, {.max_wait = 24h}};
    test::run_until(f.l->context, [&] { return first.is_over(); });
    l.reset();
    test::run_until(f.l->context, [&] { return second.is_over(); });
    BOOST_TEST((second.ec == errc::closed));
}

BOOST_DATA_TEST_CASE(a_context_that_goes_away_takes_the_line_with_it, in_process) {
    auto f = fixture{sample};
    const auto alive = std::make_shared<int>(0);
    auto served = false;
    {
        auto context = asio::io_context{1};
        auto l = limiter{context.get_executor(), f.address()};
        l.wait("k", slow, [&](error_code, const decision&) { served = true; });
        l.wait("k", slow, wait_options{.max_wait = 24h},
               [alive](error_code, const decision&) { BOOST_TEST(false); });
        test::run_until(context, [&] { return served; });
        auto moved_in = std::make_unique<limiter>(std::move(l));
        asio::post(context, [kept = std::move(moved_in)] {});
    }
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_DATA_TEST_CASE(waits_of_any_other_length_are_refused, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        for (const auto& o :
             {wait_options{.max_wait = -1us}, wait_options{.max_wait = limits::max_repayment + 1us},
              wait_options{.cost = -1}}) {
            auto w = waiter{f.l->limiter, "k", slow, o};
            co_await test::until([&] { return w.is_over(); });
            BOOST_TEST((w.ec == errc::invalid_argument));
        }
        const auto none = co_await owed(*f.l, slow);
        BOOST_TEST(none.count() == 0);
    });
}

BOOST_DATA_TEST_CASE(a_blocked_key_is_not_waited_for, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.block("k", quick, 1h);
        const auto d = co_await f.l->limiter.wait("k", quick, {.max_wait = 24h});
        BOOST_TEST(d.outcome == outcome::denied);
        BOOST_TEST((d.reason == denial_reason::block));
    });
}

BOOST_DATA_TEST_CASE(a_call_more_than_may_wait_is_refused_and_charges_nothing, in_process) {
    auto f = fixture{sample};
    auto l = live{f.address(), [](config& c) {
                      c.advanced.max_waiting = 2;
                      c.on_failure = failure_mode::allow;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        (void)co_await l.limiter.allow("k", slow);
        // However these end, they wait no longer.
        for (const auto& o :
             {wait_options{.max_wait = -1us}, wait_options{.max_wait = 1us},
              wait_options{.cost = 0, .max_wait = 0us}, wait_options{.max_wait = 24h}}) {
            auto one = waiter{l.limiter, "k", slow, o};
            auto other = waiter{l.limiter, "k", slow, o};
            other.cancel();
            one.cancel();
            co_await test::until([&] { return one.is_over() && other.is_over(); });
        }
        co_await l.limiter.reset("k", slow);
        (void)co_await l.limiter.allow("k", slow);

        auto first = waiter{l.limiter, "k", slow, {.max_wait = 24h}};
        auto second = waiter{l.limiter, "k", slow, {.max_wait = 24h}};
        auto third = waiter{l.limiter, "k", slow, {.max_wait = 24h}};
        co_await test::until([&] { return third.is_over(); });
        BOOST_TEST((third.ec == errc::too_many_in_flight));
        co_await check_owed(l, 3h);
        auto fourth = waiter{l.limiter, "another key, which need not wait", slow};
        co_await test::until([&] { return fourth.is_over(); });
        BOOST_TEST((fourth.ec == errc::too_many_in_flight));
        second.cancel();
        co_await check_owed(l, 2h);
        auto fifth = waiter{l.limiter, "k", slow, {.max_wait = 24h}};
        co_await check_owed(l, 3h);
        BOOST_TEST(!fifth.is_over());
        l.limiter.close();
        co_await test::until([&] { return first.is_over() && fifth.is_over(); });
    });
}

BOOST_AUTO_TEST_CASE(two_limiters_on_one_server_share_one_line) {
    auto f = fixture{false};
    auto other = limiter{f.l->context.get_executor(), f.address()};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.allow("k", quick);
        auto all = std::vector<std::unique_ptr<waiter>>{};
        for (int i = 0; i < 6; ++i)
            all.push_back(std::make_unique<waiter>(i % 2 == 0 ? f.l->limiter : other, "k", quick));
        co_await test::until(
            [&] { return std::ranges::all_of(all, [](const auto& w) { return w->is_over(); }); });
        auto turns = std::vector<time_point>{};
        for (const auto& w : all) {
            BOOST_TEST_REQUIRE(w->was_granted());
            turns.push_back(w->d.server_time);
        }
        std::ranges::sort(turns);
        for (std::size_t i = 1; i < turns.size(); ++i)
            BOOST_TEST((turns[i] >= turns[i - 1] + 50ms));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::wait_test

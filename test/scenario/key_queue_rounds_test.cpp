// SPDX-License-Identifier: BSL-1.0
//
// Which calls of a queue ask, and when. The limiter's clock is the test's own, and each request
// reads it once: so the readings count the requests, and say what each of them finds.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::key_queue_rounds_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::waiter;
using waiters = std::vector<std::unique_ptr<waiter>>;

const auto three = policy{"three", fixed_window(3, 24h).from_first()};
constexpr auto patient = wait_options{.max_wait = wait_options::no_max_wait};
constexpr auto in_process = {true, false};
constexpr auto start = time_point{1h};

struct clocked {
    /// @param ages the readings of the clock since `start`, the last one for all further ones
    clocked(bool is_in_process, std::vector<std::chrono::microseconds> ages)
        : store{is_in_process, [this, ages](config& c) {
                    c.advanced.clock = [this, ages] {
                        return start + ages[std::min(readings++, ages.size() - 1)];
                    };
                }} {}

    [[nodiscard]] limiter& l() { return store.l->limiter; }

    [[nodiscard]] waiters wait_for(std::size_t n, const wait_options& o = patient) {
        auto all = waiters{};
        while (all.size() < n)
            all.push_back(std::make_unique<waiter>(l(), "k", three, o));
        return all;
    }

    /// Completes behind all requests that were made.
    asio::awaitable<void> peek() { (void)co_await l().peek("k", three); }

    std::size_t readings = 0;
    scenario::store_fixture store;
};

asio::awaitable<void> until_over(const waiters& all) {
    co_await test::until(
        [&] { return std::ranges::all_of(all, [](const auto& w) { return w->is_over(); }); });
}

BOOST_AUTO_TEST_SUITE(key_queues)

BOOST_DATA_TEST_CASE(only_the_first_call_asks, in_process) {
    auto f = clocked{sample, {0s}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l().charge("k", three, {.cost = 3});
        const auto all = f.wait_for(3);
        co_await f.peek();
        const auto later = f.wait_for(1);
        co_await f.peek();
        BOOST_TEST(f.readings == 4U); // the charge, the first call and the peeks
        f.l().close();
        co_await until_over(all);
    });
}

BOOST_AUTO_TEST_CASE(when_an_asking_call_is_cancelled_the_next_one_asks_alone) {
    auto f = clocked{false, {0s}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l().charge("k", three, {.cost = 3});
        const auto all = f.wait_for(3);
        all[0]->cancel();
        co_await test::until([&] { return all[0]->is_over(); });
        BOOST_TEST((all[0]->ec == asio::error::operation_aborted));
        co_await f.peek();
        BOOST_TEST(f.readings == 4U); // the charge, two calls and the peek
        f.l().close();
        co_await until_over(all);
    });
}

BOOST_DATA_TEST_CASE(a_denial_is_that_of_all_who_need_as_much_and_cannot_wait, in_process) {
    auto f = clocked{sample, {0s}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l().charge("k", three, {.cost = 3});
        const auto all = f.wait_for(3, {.max_wait = 1h});
        co_await until_over(all);
        BOOST_TEST(f.readings == 2U); // the charge and the first call
        for (const auto& w : all)
            BOOST_TEST((!*w->ec && w->d.outcome == outcome::denied));
    });
}

BOOST_DATA_TEST_CASE(calls_that_ask_together_are_each_denied_once, in_process) {
    auto f = clocked{sample, {0s}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        const auto all = f.wait_for(4, {.max_wait = 1h});
        f.l().charge("k", three, {.cost = 2},
                     [](error_code ec, const decision&) { BOOST_TEST(!ec); });
        co_await until_over(all);
        BOOST_TEST(all[0]->d.remaining == 2); // so two of the others ask
        BOOST_TEST(f.readings == 4U);
        for (const auto i : {1U, 2U, 3U})
            BOOST_TEST((!*all[i]->ec && all[i]->d.outcome == outcome::denied));
        co_await f.l().reset("k", three);
        const auto next = f.wait_for(1); // in a new queue
        co_await until_over(next);
        BOOST_TEST(next[0]->was_granted());
    });
}

BOOST_DATA_TEST_CASE(what_remained_counts_in_the_next_round_only, in_process) {
    // Both calls of the second round are denied for a millisecond, and the next one for 23 hours.
    auto f = clocked{sample, {0s, 0s, 24h - 1ms, 24h - 1ms, 1h}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        const auto all = f.wait_for(3);
        f.l().charge("k", three, {.cost = 2},
                     [](error_code ec, const decision&) { BOOST_TEST(!ec); });
        co_await test::until([&] { return f.readings >= 5; });
        co_await f.peek();
        BOOST_TEST(f.readings == 6U);
        BOOST_TEST(all[0]->was_granted());
        f.l().close();
        co_await until_over(all);
    });
}

BOOST_DATA_TEST_CASE(an_error_counts_in_the_next_round_only, in_process) {
    auto f = clocked{sample, {0s, -2h, 24h - 1ms, 24h - 1ms, 1h}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l().charge("k", three, {.cost = 3});
        const auto all = f.wait_for(3);
        co_await test::until([&] { return f.readings >= 5; });
        co_await f.peek();
        BOOST_TEST(f.readings == 6U);
        BOOST_TEST((all[0]->ec == errc::invalid_argument)); // of a time before 1970
        f.l().close();
        co_await until_over(all);
    });
}

BOOST_DATA_TEST_CASE(lines_that_sleep_for_different_times_all_wake, in_process) {
    for (const auto& pauses : {std::vector{20ms, 200ms}, std::vector{200ms, 20ms}}) {
        auto f = clocked{sample, {0s, 0s, 24h - pauses[0], 24h - pauses[1], 24h}};
        f.store.l->run([&]() -> asio::awaitable<void> {
            (void)co_await f.l().charge("a", three, {.cost = 3});
            (void)co_await f.l().charge("b", three, {.cost = 3});
            const auto a = waiter{f.l(), "a", three, patient};
            const auto b = waiter{f.l(), "b", three, patient};
            co_await test::until([&] { return a.is_over() && b.is_over(); });
            BOOST_TEST(a.was_granted());
            BOOST_TEST(b.was_granted());
            BOOST_TEST(f.readings == 6U);
        });
    }
}

BOOST_DATA_TEST_CASE(a_denial_that_a_call_did_not_ask_for_is_of_its_own_time, in_process) {
    auto f = clocked{sample, {0s}};
    f.store.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l().charge("k", three, {.cost = 3});
        const auto asleep = f.wait_for(1);
        co_await f.peek();
        co_await test::pause_for(2ms);
        const auto late = f.wait_for(1, {.max_wait = 1h});
        co_await until_over(late);
        BOOST_TEST((late[0]->d.retry_after <= 24h - 2ms));
        BOOST_TEST((late[0]->d.retry_after >= 24h - 3ms));
        BOOST_TEST((late[0]->d.server_time + late[0]->d.retry_after == start + 24h));
        BOOST_TEST(f.readings == 3U);
        f.l().close();
        co_await until_over(asleep);
    });
}

BOOST_DATA_TEST_CASE(a_supplied_time_passes_while_a_call_waits, in_process) {
    auto f = scenario::store_fixture{sample};
    const auto brief = policy{"brief", fixed_window(1, 30ms).from_first()};
    f.l->run([&]() -> asio::awaitable<void> {
        (void)co_await f.l->limiter.charge("k", brief, {.now = start});
        const auto d = co_await f.l->limiter.wait("k", brief, {.now = start});
        BOOST_TEST(d.allowed());
        BOOST_TEST((d.server_time >= start + 30ms));
        BOOST_TEST((d.server_time <= start + 31ms));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::key_queue_rounds_test

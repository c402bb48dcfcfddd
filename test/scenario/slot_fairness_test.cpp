// SPDX-License-Identifier: BSL-1.0
//
// How processes share the slots of a key that all of them want all the time, and what that costs.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colimit::slot_fairness_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

/// What the way to the server and its work take at most.
constexpr auto trip = 1ms;

/// Two limiters, as two processes have.
struct two_limiters : scenario::world {
    fake_redis server{net};
    live a{context, server.url()};
    live b{context, server.url()};
};

/// Calls `acquire`, holds the slot for a time and releases it, again and again.
struct worker {
    /// @param told of each grant
    worker(
        live& of, const policy& p, std::chrono::microseconds hold,
        std::function<void()> told = [] {})
        : l(of.limiter), limit(p), held(hold), on_grant(std::move(told)) {
        next();
    }
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    void next() {
        const auto since = std::chrono::steady_clock::now();
        l.acquire("k", limit, {.max_wait = 1h}, [this, since](error_code ec, slot s) {
            BOOST_TEST(!ec);
            BOOST_TEST_REQUIRE(static_cast<bool>(s));
            ++grants;
            on_grant();
            longest = std::max(longest, std::chrono::duration_cast<std::chrono::microseconds>(
                                            std::chrono::steady_clock::now() - since));
            timer.expires_after(held);
            timer.async_wait([this, kept = std::move(s)](error_code e) mutable {
                kept.release();
                if (!e && !stops)
                    next();
            });
        });
    }

    limiter& l;
    policy limit;
    std::chrono::microseconds held;
    std::function<void()> on_grant;
    asio::steady_timer timer{l.get_executor()};
    int grants = 0;
    std::chrono::microseconds longest{};
    bool stops = false;
};

/// Returns the time of so many holders, one after another, and of at least ten turns.
[[nodiscard]] std::chrono::microseconds enough_for(int holders, std::chrono::microseconds hold) {
    return std::max<std::chrono::microseconds>(holders * hold, 25s);
}

BOOST_FIXTURE_TEST_SUITE(fairness_of_slots, two_limiters)

/// The release of a slot and the next `acquire` of the same process travel together.
BOOST_AUTO_TEST_CASE(no_process_keeps_a_slot_for_itself_while_another_waits) {
    struct trial {
        std::int64_t limit;
        std::size_t of_a;
        std::size_t of_b;
        std::chrono::milliseconds hold;
    };
    for (const auto& t : {trial{1, 1, 1, 5ms}, trial{1, 10, 10, 5ms}, trial{1, 2, 1, 1500ms},
                          trial{4, 40, 40, 10ms}, trial{10, 20, 20, 50ms}, trial{1, 1, 1, 5s}})
        BOOST_TEST_CONTEXT(t.limit << " places, " << t.of_a << " and " << t.of_b << " workers, "
                                   << t.hold.count() << " ms") {
            const auto p = policy{"p" + std::to_string(t.limit) + std::to_string(t.hold.count()) +
                                      std::to_string(t.of_a),
                                  concurrent(t.limit).lease(30s)};
            run([&]() -> asio::awaitable<void> {
                auto all = std::vector<std::unique_ptr<worker>>{};
                for (std::size_t i = 0; i < t.of_a; ++i)
                    all.push_back(std::make_unique<worker>(a, p, t.hold));
                co_await test::pause_for(300ms);
                for (std::size_t i = 0; i < t.of_b; ++i)
                    all.push_back(std::make_unique<worker>(b, p, t.hold));
                co_await test::pause_for(enough_for(24, t.hold));
                auto grants = std::array{0, 0};
                for (std::size_t i = 0; i < all.size(); ++i) {
                    all[i]->stops = true;
                    grants[i < t.of_a ? 0 : 1] += all[i]->grants;
                }
                // A turn, the last holder of it, and the same of the own process's other calls.
                const auto per_turn = t.hold > 2s ? 1 : 2s / t.hold * t.limit;
                const auto turns =
                    1 + static_cast<std::int64_t>(std::max(t.of_a, t.of_b)) / per_turn;
                for (const auto& w : all)
                    BOOST_TEST((w->longest <= turns * 2 * (2s + t.hold + 400ms)));
                BOOST_TEST(std::min(grants[0], grants[1]) * 3 >= std::max(grants[0], grants[1]));
                co_await test::pause_for(1min);
            });
        }
}

/// Whatever it waits for: with a rate beside, most of its calls wait for that.
BOOST_AUTO_TEST_CASE(a_process_whose_slots_are_never_all_taken_does_not_give_way) {
    for (const auto& [p, longest] :
         {std::pair{policy{"many", concurrent(3).lease(30s)}, 20'000},
          std::pair{policy{"rate", concurrent(50).lease(30s), gcra(1, 20ms)}, 100'000}})
        run([&]() -> asio::awaitable<void> {
            auto first = worker{a, p, 5ms};
            auto second = worker{a, p, 5ms};
            co_await test::pause_for(30s);
            first.stops = second.stops = true;
            for (const auto* w : {&first, &second})
                BOOST_TEST(w->longest.count() <= longest);
            co_await test::pause_for(1s);
        });
}

/// The bound of the user guide: 2.3 s and the time of one holder after the other process began to
/// pass the slot on.
BOOST_AUTO_TEST_CASE(of_two_processes_that_always_wait_each_gets_its_turn_in_time) {
    for (const auto hold : {5ms, 149ms, 700ms, 1900ms, 2100ms, 5000ms})
        for (const auto workers : {2U, 3U, 8U}) { // of each process, so one of its calls waits
            const auto p = policy{"p" + std::to_string(hold.count()) + std::to_string(workers),
                                  concurrent(1).lease(30s)};
            auto last = std::size_t{2};
            auto began = std::chrono::microseconds{};
            auto longest = std::chrono::microseconds{};
            auto turns = 0;
            const auto note = [&](std::size_t process) {
                longest = std::max(longest, last == 2 ? 0us : now() - began);
                if (std::exchange(last, process) != process) {
                    began = now();
                    ++turns;
                }
            };
            run([&]() -> asio::awaitable<void> {
                auto all = std::vector<std::unique_ptr<worker>>{};
                for (std::size_t i = 0; i < std::size_t{2} * workers; ++i)
                    all.push_back(std::make_unique<worker>(i % 2 == 0 ? a : b, p, hold,
                                                           [&note, i] { note(i % 2); }));
                co_await test::pause_for(enough_for(24, hold));
                for (const auto& w : all)
                    w->stops = true;
                BOOST_TEST((longest <= 2300ms + hold), hold.count() << " ms: " << longest.count());
                BOOST_TEST(turns > 8);
                co_await test::pause_for(5min);
            });
        }
}

/// Of its slots and time, as the user guide says, besides the trips to the server.
BOOST_AUTO_TEST_CASE(a_process_that_wants_all_slots_alone_loses_at_most_seven_percent) {
    for (const auto places : {1, 4})
        for (const auto hold : {50ms, 149ms, 700ms}) {
            const auto p = policy{"p" + std::to_string(hold.count()) + std::to_string(places),
                                  concurrent(places).lease(30s)};
            run([&]() -> asio::awaitable<void> {
                auto all = std::vector<std::unique_ptr<worker>>{};
                for (auto i = 0; i < 2 * places; ++i)
                    all.push_back(std::make_unique<worker>(a, p, hold));
                co_await test::pause_for(2min);
                auto grants = 0;
                for (const auto& w : all) {
                    w->stops = true;
                    grants += w->grants;
                }
                const auto used = grants * (hold + trip) / (1.0 * places) / 2min;
                BOOST_TEST(used >= 0.93, hold.count() << " ms: " << used);
                BOOST_TEST(used < 0.999, hold.count() << " ms: " << used); // it does give way
                co_await test::pause_for(1min);
            });
        }
}

/// Calls of the same process that wait only briefly do not ask meanwhile, nor do others with them.
BOOST_AUTO_TEST_CASE(calls_that_wait_briefly_do_not_end_the_time_in_which_others_give_way) {
    for (const auto hold : {149ms, 700ms})
        for (const auto brief : {1ms, 15ms, 60ms, 120ms}) {
            const auto p =
                policy{"p" + std::to_string(hold.count()) + std::to_string(brief.count()),
                       concurrent(1).lease(30s)};
            run([&]() -> asio::awaitable<void> {
                auto first = worker{a, p, hold};
                auto second = worker{a, p, hold};
                auto other = worker{b, p, hold};
                for (const auto begin = now(); now() - begin < enough_for(40, hold);) {
                    auto [ec, got] = co_await a.limiter.acquire("k", p, {.max_wait = brief},
                                                                asio::as_tuple(asio::deferred));
                    BOOST_TEST(!ec);
                    got.release();
                    co_await test::pause_for(7ms);
                }
                for (auto* w : {&first, &second, &other})
                    w->stops = true;
                BOOST_TEST(4 * other.grants >= 3 * (first.grants + second.grants),
                           hold.count() << " and " << brief.count() << " ms");
                co_await test::pause_for(1min);
            });
        }
}

/// Waits until the slot is free, as a process gives way.
asio::awaitable<void> until_free(live& of, const policy& p) {
    for (auto is_free = false; !is_free;) { // the release and the next acquire are one batch
        co_await test::pause_for(1ms);
        const auto d = co_await of.limiter.peek("k", p);
        is_free = d.allowed();
    }
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_briefly_or_not_at_all_may_have_what_is_left_free) {
    const auto p = policy{"p", concurrent(1).lease(30s)};
    run([&]() -> asio::awaitable<void> {
        auto only = worker{a, p, 100ms}; // whose calls are never denied
        for (const auto wait : {0ms, 30ms, 100ms}) {
            co_await until_free(b, p);
            const auto asked = now();
            auto got = co_await a.limiter.acquire("k", p, {.max_wait = wait});
            BOOST_TEST(static_cast<bool>(got), wait.count() << " ms");
            BOOST_TEST((now() - asked >= wait));
            BOOST_TEST((now() - asked <= wait + trip));
            co_await test::pause_for(200ms); // the turn in which it was free is over
        }
        only.stops = true;
        co_await test::pause_for(1s);
    });
}

BOOST_AUTO_TEST_CASE(a_brief_call_is_denied_while_others_of_its_process_that_were_denied_give_way) {
    const auto p = policy{"p", concurrent(1).lease(30s)};
    run([&]() -> asio::awaitable<void> {
        auto first = worker{a, p, 100ms};
        auto second = worker{a, p, 100ms};
        for (const auto wait : {0ms, 30ms, 100ms}) {
            co_await until_free(b, p);
            const auto asked = now();
            auto got = co_await a.limiter.acquire("k", p, {.max_wait = wait});
            BOOST_TEST(static_cast<bool>(got) == (wait == 0ms), wait.count() << " ms");
            BOOST_TEST((now() - asked <= trip));
            if (!got) {
                BOOST_TEST((got.decision().reason == denial_reason::rule));
                BOOST_TEST((got.decision().retry_after > wait));
                BOOST_TEST((got.decision().retry_after <= 150ms));
                BOOST_TEST_REQUIRE(got.decision().rules.size() == 1U);
                BOOST_TEST(got.decision().rules[0].limit == 1);
            }
            co_await test::pause_for(200ms);
        }
        first.stops = second.stops = true;
        co_await test::pause_for(1s);
    });
}

/// Makes more calls than a slot can serve, each of which waits for at most `longest`.
asio::awaitable<void> overload(live& of, const policy& p, std::chrono::microseconds longest,
                               std::chrono::microseconds hold) {
    const auto end = std::chrono::steady_clock::now() + enough_for(40, hold);
    while (std::chrono::steady_clock::now() < end) {
        of.limiter.acquire("k", p, {.max_wait = longest}, [hold, &of](error_code ec, slot s) {
            BOOST_TEST(!ec);
            if (!s)
                return;
            auto timer = std::make_shared<asio::steady_timer>(of.limiter.get_executor(), hold);
            timer->async_wait([timer, kept = std::move(s)](error_code) mutable { kept.release(); });
        });
        co_await test::pause_for(5ms);
    }
}

/// The bound of the user guide. Most calls of the other process end while they wait, also while it
/// gives way.
BOOST_AUTO_TEST_CASE(an_overloaded_process_gives_way_whatever_the_time_of_its_calls) {
    for (const auto longest : {10ms, 150ms, 200ms, 1000ms, 5000ms})
        for (const auto hold : {20ms, 149ms, 700ms}) {
            const auto p =
                policy{"p" + std::to_string(hold.count()) + std::to_string(longest.count()),
                       concurrent(1).lease(30s)};
            run([&]() -> asio::awaitable<void> {
                auto other = worker{b, p, hold};
                co_await overload(a, p, longest, hold);
                other.stops = true;
                BOOST_TEST(other.grants > 10);
                BOOST_TEST((other.longest <= 2300ms + hold),
                           "hold " << hold.count() << " ms, calls of " << longest.count()
                                   << " ms: waited for " << other.longest.count() << " us");
                co_await test::pause_for(10s);
            });
        }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_fairness_test

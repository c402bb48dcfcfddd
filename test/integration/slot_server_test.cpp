// SPDX-License-Identifier: BSL-1.0
//
// Slots on a server, which several limiters share as processes do.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace colimit::slot_server_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using test::live;

const auto two = policy{"two", concurrent(2).lease(1h), fixed_window(100, 24h)};
const auto one = policy{"one", concurrent(1).lease(1h)};
const auto brief = policy{"brief", concurrent(1).lease(300ms)};

struct two_limiters {
    /// Acquires a slot, or an empty one.
    static asio::awaitable<slot> acquire(live& l, const policy& p, const acquire_options& o = {}) {
        auto [ec, got] = co_await l.limiter.acquire("k", p, o, asio::as_tuple(asio::deferred));
        BOOST_TEST(!ec);
        co_return std::move(got);
    }
    static asio::awaitable<std::int64_t> holders(live& l, policy p) {
        const auto d = co_await l.limiter.peek("k", p, {.cost = 0});
        co_return d.rules[0].limit - d.rules[0].balance;
    }
    /// Runs the other limiter until the condition holds.
    void until_b(test::predicate holds) { test::run_until(b.context, holds); }

    test::redis_server server;
    live a{server.address()};
    live b{server.address()};
};

BOOST_FIXTURE_TEST_SUITE(slots_on_a_server, two_limiters)

BOOST_AUTO_TEST_CASE(limiters_share_the_places_and_tokens_grow) {
    auto held = std::vector<slot>{};
    a.run([&]() -> asio::awaitable<void> {
        held.push_back(co_await acquire(a, two));
        BOOST_TEST_REQUIRE(static_cast<bool>(held[0]));
    });
    b.run([&]() -> asio::awaitable<void> {
        held.push_back(co_await acquire(b, two));
        BOOST_TEST_REQUIRE(static_cast<bool>(held[1]));
        BOOST_TEST(held[1].fencing_token() > held[0].fencing_token());
        const auto third = co_await acquire(b, two);
        BOOST_TEST(!third);
        BOOST_TEST(third.decision().limiting_rule == 0);
        BOOST_TEST(third.decision().rules[1].balance == 98);
        held[1].release();
        const auto again = co_await acquire(b, two);
        BOOST_TEST(static_cast<bool>(again));
        BOOST_TEST(again.fencing_token() > held[0].fencing_token());
        const auto used = co_await holders(b, two);
        BOOST_TEST(used == 2);
    });
}

BOOST_AUTO_TEST_CASE(a_call_waits_for_a_place_of_another_process) {
    auto held = slot{};
    a.run([&]() -> asio::awaitable<void> { held = co_await acquire(a, one); });
    auto got = std::optional<slot>{};
    b.limiter.acquire("k", one, {.max_wait = wait_options::no_max_wait},
                      [&](error_code ec, slot s) {
                          BOOST_TEST(!ec);
                          got = std::move(s);
                      });
    b.run([&]() -> asio::awaitable<void> {
        const auto used = co_await holders(b, one);
        BOOST_TEST(used == 1);
    });
    BOOST_TEST(!got.has_value());
    a.run([&]() -> asio::awaitable<void> {
        held.release();
        (void)co_await holders(a, one); // which is sent after the release
    });
    until_b([&] { return got.has_value(); });
    BOOST_TEST(static_cast<bool>(*got));
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_briefly_behind_others_asks_before_it_is_denied) {
    auto held = std::array<slot, 2>{};
    a.run([&]() -> asio::awaitable<void> {
        for (auto& s : held)
            s = co_await acquire(a, two);
    });
    auto got = std::vector<slot>{};
    const auto wait = [&](std::chrono::microseconds longest) {
        b.limiter.acquire("k", two, {.max_wait = longest}, [&](error_code ec, slot s) {
            BOOST_TEST(!ec);
            got.push_back(std::move(s));
        });
    };
    wait(wait_options::no_max_wait);
    b.run([&]() -> asio::awaitable<void> { (void)co_await holders(b, two); });
    BOOST_TEST(got.empty());
    a.run([&]() -> asio::awaitable<void> {
        for (auto& s : held)
            s.release();
        (void)co_await holders(a, two); // which is sent after the releases
    });
    wait(1ms); // less than the time after which the first one asks again
    until_b([&] { return got.size() == 2; });
    BOOST_TEST(static_cast<bool>(got[0]));
    BOOST_TEST(static_cast<bool>(got[1]));
}

BOOST_AUTO_TEST_CASE(a_slot_is_renewed_on_the_server) {
    a.run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, policy{"p", concurrent(1).lease(3s)});
        co_await test::until([&] { return a.limiter.statistics().slots_renewed == 1; });
        BOOST_TEST(!held.lost());
    });
}

BOOST_AUTO_TEST_CASE(a_place_of_a_limiter_that_has_ended_is_free_after_its_lease) {
    auto held = slot{};
    a.run([&]() -> asio::awaitable<void> { held = co_await acquire(a, brief); });
    BOOST_TEST_REQUIRE(static_cast<bool>(held));
    a.limiter.close();
    b.run([&]() -> asio::awaitable<void> {
        const auto next = co_await acquire(b, brief, {.max_wait = wait_options::no_max_wait});
        BOOST_TEST(static_cast<bool>(next));
        BOOST_TEST((next.decision().server_time - held.decision().server_time >= 300ms));
        BOOST_TEST(held.lost());
    });
}

BOOST_AUTO_TEST_CASE(a_limiter_that_is_closed_gives_back_what_was_released_before) {
    const auto limit = policy{"limit", fixed_window(10, 24h)};
    for (const auto is_thread_safe : {false, true}) {
        auto c = live{server.address(), [&](config& of) { of.thread_safe = is_thread_safe; }};
        auto why = error_code{};
        c.run([&]() -> asio::awaitable<void> {
            {
                const auto held = co_await acquire(c, one);
                BOOST_TEST_REQUIRE(static_cast<bool>(held));
                c.limiter.allow("k", limit, [&](error_code ec, const decision&) { why = ec; });
            }
            c.limiter.close();
        });
        c.context.restart();
        c.context.run_for(test::patience);
        BOOST_TEST(c.context.stopped()); // it has run out of work
        BOOST_TEST((why == errc::closed));
        b.run([&]() -> asio::awaitable<void> {
            for (auto used = co_await holders(b, one); used != 0; used = co_await holders(b, one))
                co_await test::pause_for(1ms);
            const auto d = co_await b.limiter.peek("k", limit);
            BOOST_TEST(d.rules[0].balance == 10);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_when_the_server_has_forgotten_it) {
    a.run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, policy{"p", concurrent(1).lease(3s)});
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        server.connect().must({"FLUSHALL"});
        co_await test::until([&] { return a.limiter.statistics().slots_lost == 1; });
        BOOST_TEST(held.lost());
    });
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_when_the_server_is_gone_for_a_lease) {
    a.run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(a, brief);
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        server.kill();
        co_await test::until([&] { return a.limiter.statistics().slots_lost == 1; });
        BOOST_TEST(held.lost());
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_server_test

// SPDX-License-Identifier: BSL-1.0
//
// Leases of slots on a server: when they are renewed, end and are lost, and what becomes of the
// slots of a limiter or a process that has ended or is halted.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace colimit::slot_lease_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto two = policy{"two", concurrent(2).lease(1h), fixed_window(100, 24h)};
const auto one = policy{"one", concurrent(1).lease(3s)};

/// What the way to the server and its work take at most.
constexpr auto trip = std::chrono::milliseconds{1};

/// Two limiters, as two processes have.
struct two_limiters : scenario::world {
    /// Acquires a slot, or an empty one.
    static asio::awaitable<slot> acquire(live& l, const policy& p, const acquire_options& o = {}) {
        auto [ec, got] = co_await l.limiter.acquire("k", p, o, asio::as_tuple(asio::deferred));
        BOOST_TEST(!ec);
        co_return std::move(got);
    }
    static asio::awaitable<slot> wait_for(live& l, const policy& p) {
        const auto patient = acquire_options{.max_wait = wait_options::no_max_wait};
        co_return co_await acquire(l, p, patient);
    }
    static asio::awaitable<std::int64_t> holders(live& l, policy p) {
        const auto d = co_await l.limiter.peek("k", p, {.cost = 0});
        co_return d.rules[0].limit - d.rules[0].balance;
    }

    fake_redis server{net};
    live a{context, server.url()};
    live b{context, server.url()};
};

BOOST_FIXTURE_TEST_SUITE(leases_of_slots, two_limiters)

BOOST_AUTO_TEST_CASE(a_call_waits_for_a_slot_of_another_process) {
    run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(a, one);
        auto got = std::optional<slot>{};
        b.limiter.acquire("k", one, {.max_wait = wait_options::no_max_wait},
                          [&](error_code ec, slot s) {
                              BOOST_TEST(!ec);
                              got = std::move(s);
                          });
        co_await test::pause_for(10min);
        BOOST_TEST(!got.has_value());
        held.release();
        const auto released = now();
        co_await test::until([&] { return got.has_value(); });
        BOOST_TEST(static_cast<bool>(*got));
        BOOST_TEST((now() - released <= 3s));
    });
}

BOOST_AUTO_TEST_CASE(a_call_that_waits_briefly_behind_others_asks_before_it_is_denied) {
    run([&]() -> asio::awaitable<void> {
        auto held = std::array<slot, 2>{};
        for (auto& s : held)
            s = co_await acquire(a, two);
        auto got = std::vector<slot>{};
        const auto wait = [&](std::chrono::microseconds longest) {
            b.limiter.acquire("k", two, {.max_wait = longest}, [&](error_code ec, slot s) {
                BOOST_TEST(!ec);
                got.push_back(std::move(s));
            });
        };
        wait(wait_options::no_max_wait);
        co_await test::pause_for(5ms);
        BOOST_TEST(got.empty());
        for (auto& s : held)
            s.release();
        co_await test::pause_for(5ms);
        const auto asked = server.calls_of("evalsha");
        wait(1ms); // less than the time after which the first one asks again
        co_await test::until([&] { return got.size() == 2; });
        BOOST_TEST(server.calls_of("evalsha") > asked);
        BOOST_TEST(static_cast<bool>(got[0]));
        BOOST_TEST(static_cast<bool>(got[1]));
    });
}

/// The holders are those of the key, whichever version of the policy asks.
BOOST_AUTO_TEST_CASE(a_slot_that_is_given_back_wakes_the_calls_of_each_version) {
    const auto longer = policy{"one", concurrent(1).lease(4s)};
    run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(a, one);
        auto got = std::vector<slot>{};
        for (const auto* p : {&one, &longer})
            a.limiter.acquire("k", *p, {.max_wait = wait_options::no_max_wait},
                              [&](error_code ec, slot s) {
                                  BOOST_TEST(!ec);
                                  got.push_back(std::move(s));
                              });
        co_await test::pause_for(5ms);
        for (auto served = 1U; served <= 2; ++served) {
            held.release();
            co_await test::pause_for(10 * trip);
            BOOST_TEST_REQUIRE(got.size() == served);
            held = std::move(got.back());
        }
    });
}

/// They count with those of `wait`; one that does not wait is no such call.
BOOST_AUTO_TEST_CASE(a_call_more_than_may_wait_is_refused_and_asks_for_nothing) {
    const auto window = policy{"window", fixed_window(1, 24h).from_first()};
    for (const auto mode : {failure_mode::error, failure_mode::deny}) {
        auto c = live{context, server.url(), [mode](config& of) {
                          of.advanced.max_waiting = 2;
                          of.on_failure = mode;
                      }};
        run([&]() -> asio::awaitable<void> {
            auto held = co_await acquire(a, one);
            (void)co_await a.limiter.allow("k", window);
            auto ended = 0;
            c.limiter.acquire("k", one, {.max_wait = 1h},
                              [&](error_code ec, const slot& s) { ended += !ec && s ? 1 : 100; });
            c.limiter.wait("k", window, {.max_wait = 25h},
                           [&](error_code ec, decision) { ended += ec == errc::closed ? 1 : 100; });
            co_await test::pause_for(5ms);
            const auto asked = server.calls_of("evalsha");
            for (auto times = 0; times < 3; ++times) {
                auto [full, none] = co_await c.limiter.acquire("k", one, {.max_wait = 1us},
                                                               asio::as_tuple(asio::deferred));
                BOOST_TEST((full == errc::too_many_in_flight), full.message());
                BOOST_TEST(!none);
            }
            co_await test::pause_for(5ms);
            BOOST_TEST(server.calls_of("evalsha") == asked);
            const auto denied = co_await acquire(c, one);
            BOOST_TEST(!denied);
            BOOST_TEST((denied.decision().outcome == outcome::denied));
            held.release();
            co_await test::until([&] { return ended == 1; });
            auto next = co_await acquire(c, two, {.max_wait = 1us}); // there is room again
            BOOST_TEST(static_cast<bool>(next));
            c.limiter.close();
            co_await test::until([&] { return ended == 2; });
            co_await a.limiter.reset("k", window);
            co_await a.limiter.reset("k", one);
            co_await a.limiter.reset("k", two);
        });
    }
}

/// The call waits for its connection for longer than the lease.
BOOST_AUTO_TEST_CASE(a_lease_counts_from_when_its_request_was_sent) {
    const auto brief = policy{"brief", concurrent(1).lease(500ms)};
    auto c = live{context, server.url(),
                  [](config& of) { of.timeout = of.advanced.connect_timeout = 5s; }};
    server.stop();
    after(1s, [&] { server.thaw(); });
    run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(c, brief);
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        BOOST_TEST((now() >= 1s));
        BOOST_TEST(!held.lost());
        co_await test::pause_for(1h);
        BOOST_TEST(!held.lost());
        BOOST_TEST(c.limiter.statistics().slots_lost == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_slot_is_renewed_at_a_third_of_its_lease) {
    run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, one);
        co_await test::pause_for(trip);
        for (auto renewals = 0U; renewals < 5; ++renewals) {
            co_await test::pause_for(1s - 2 * trip);
            BOOST_TEST(a.limiter.statistics().slots_renewed == renewals);
            co_await test::pause_for(2 * trip);
            BOOST_TEST(a.limiter.statistics().slots_renewed == renewals + 1);
        }
        co_await test::pause_for(1h);
        BOOST_TEST(!held.lost());
    });
}

BOOST_AUTO_TEST_CASE(a_slot_of_a_limiter_that_has_ended_is_free_after_its_lease) {
    run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, one);
        const auto begin = now();
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        a.limiter.close();
        const auto next = co_await wait_for(b, one);
        BOOST_TEST(static_cast<bool>(next));
        BOOST_TEST((next.decision().server_time - held.decision().server_time >= 3s));
        BOOST_TEST((now() - begin <= 3s + 2 * trip));
        BOOST_TEST(held.lost());
    });
}

/// Its event loop has run no timer since.
BOOST_AUTO_TEST_CASE(a_slot_is_lost_at_the_first_look_after_a_halt) {
    run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(a, one);
        work_for(2s);
        BOOST_TEST(!held.lost());
        work_for(1s);
        BOOST_TEST(held.lost());
        const auto next = co_await acquire(b, one);
        BOOST_TEST(static_cast<bool>(next));
        BOOST_TEST(next.fencing_token() > held.fencing_token());
    });
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_given_back_after_its_lease_counts_as_lost) {
    run([&]() -> asio::awaitable<void> {
        auto held = co_await acquire(a, one);
        work_for(3s);
        held.release();
        BOOST_TEST(a.limiter.statistics().slots_lost == 1U);
        BOOST_TEST(a.limiter.statistics().slots_released == 0U);
        BOOST_TEST(a.limiter.statistics().slots_held == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_limiter_that_is_closed_gives_back_what_was_released_before) {
    const auto limit = policy{"limit", fixed_window(10, 24h)};
    for (const auto is_thread_safe : {false, true}) {
        auto c = live{context, server.url(), [&](config& of) { of.thread_safe = is_thread_safe; }};
        auto why = error_code{};
        run([&]() -> asio::awaitable<void> {
            {
                const auto held = co_await acquire(c, one);
                BOOST_TEST_REQUIRE(static_cast<bool>(held));
                c.limiter.allow("k", limit, [&](error_code ec, const decision&) { why = ec; });
            }
            c.limiter.close();
            co_await test::pause_for(10 * trip);
            BOOST_TEST((why == errc::closed));
            const auto used = co_await holders(b, one);
            BOOST_TEST(used == 0);
            const auto d = co_await b.limiter.peek("k", limit);
            BOOST_TEST(d.rules[0].balance == 10);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_slot_that_the_server_has_forgotten_is_lost_by_its_next_renewal) {
    run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, one);
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        server.keys().clear();
        co_await test::pause_for(1s - 2 * trip);
        BOOST_TEST(!held.lost());
        co_await test::pause_for(4 * trip);
        BOOST_TEST(held.lost());
        BOOST_TEST(a.limiter.statistics().slots_lost == 1U);
    });
}

/// Nothing overtakes the request while its connection exists, however late it is delivered.
BOOST_AUTO_TEST_CASE(an_acquire_that_is_delivered_after_its_deadline_is_followed_by_its_release) {
    run([&]() -> asio::awaitable<void> {
        (void)co_await a.limiter.ready();
        const auto delivered = now() + 1min;
        for (const auto& c : net.connections_of(server))
            c->delay_until(os.now() + std::chrono::microseconds{1min}.count());
        const auto [ec, got] = co_await a.limiter.acquire("k", one, asio::as_tuple(asio::deferred));
        BOOST_TEST((ec == errc::outcome_unknown));
        BOOST_TEST(!got);
        co_await test::pause_for(delivered - 1s - now());
        const auto before = co_await holders(b, one);
        BOOST_TEST(before == 0);
        const auto calls = server.calls_of("evalsha");
        co_await test::pause_for(2s);
        BOOST_TEST(server.calls_of("evalsha") >= calls + 2); // both
        const auto used = co_await holders(b, one);
        BOOST_TEST(used == 0);
    });
}

BOOST_AUTO_TEST_CASE(a_slot_is_lost_when_the_server_is_gone_for_a_lease) {
    run([&]() -> asio::awaitable<void> {
        (void)co_await a.limiter.ready();
        const auto begin = now();
        auto held = co_await acquire(a, one);
        BOOST_TEST_REQUIRE(static_cast<bool>(held));
        server.kill();
        // A thousandth earlier, in case the clocks differ.
        co_await test::pause_for(2'997ms - trip);
        BOOST_TEST(!held.lost());
        co_await test::pause_for(trip);
        BOOST_TEST(held.lost());
        BOOST_TEST((now() - begin < 3s));
        BOOST_TEST(a.limiter.statistics().slots_lost == 1U);
    });
}

BOOST_AUTO_TEST_CASE(a_slot_survives_an_outage_that_is_shorter_than_its_lease) {
    server.keeps_data = true;
    run([&]() -> asio::awaitable<void> {
        const auto held = co_await acquire(a, one);
        server.kill();
        after(1'500ms, [&] { server.start(); });
        co_await test::pause_for(1min);
        BOOST_TEST(!held.lost());
        const auto used = co_await holders(b, one);
        BOOST_TEST(used == 1);
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_lease_test

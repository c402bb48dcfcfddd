// SPDX-License-Identifier: BSL-1.0
//
// Leases of slots on a server: when they are renewed, end and are lost, and what becomes of the
// places of a limiter or a process that has ended or is halted.

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
#include <memory>
#include <optional>
#include <string>
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

BOOST_AUTO_TEST_CASE(a_call_waits_for_a_place_of_another_process) {
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
BOOST_AUTO_TEST_CASE(a_place_that_is_given_back_wakes_the_calls_of_each_version) {
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

/// The call waits for its connection for longer than the lease.
BOOST_AUTO_TEST_CASE(a_lease_counts_from_when_its_request_was_sent) {
    const auto brief = policy{"brief", concurrent(1).lease(500ms)};
    auto c = live{context, server.url(), [](config& of) { of.timeout = of.connect_timeout = 5s; }};
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

BOOST_AUTO_TEST_CASE(a_place_of_a_limiter_that_has_ended_is_free_after_its_lease) {
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

/// Calls `acquire`, holds the place for a time and releases it, again and again.
struct worker {
    worker(live& of, const policy& p, std::chrono::microseconds hold)
        : l(of.limiter), limit(p), held(hold) {
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
    asio::steady_timer timer{l.get_executor()};
    int grants = 0;
    std::chrono::microseconds longest{};
    bool stops = false;
};

/// The release of a place and the next `acquire` of the same process travel together.
BOOST_AUTO_TEST_CASE(no_process_keeps_a_place_for_itself_while_another_waits) {
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
                co_await test::pause_for(2min);
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
BOOST_AUTO_TEST_CASE(a_process_whose_places_are_never_all_taken_does_not_give_way) {
    for (const auto& [p, longest] :
         {std::pair{policy{"many", concurrent(3).lease(30s)}, 20'000},
          std::pair{policy{"rate", concurrent(50).lease(30s), gcra(1, 20ms)}, 100'000}})
        run([&]() -> asio::awaitable<void> {
            auto first = worker{a, p, 5ms};
            auto second = worker{a, p, 5ms};
            co_await test::pause_for(1min);
            first.stops = second.stops = true;
            for (const auto* w : {&first, &second})
                BOOST_TEST(w->longest.count() <= longest);
            co_await test::pause_for(1s);
        });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_lease_test

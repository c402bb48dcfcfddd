// SPDX-License-Identifier: BSL-1.0
//
// `config::advanced.clock`: every call without a supplied time uses it, on both stores.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <optional>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::own_clock_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto in_process = {true, false};

/// A store with a clock that stands still until it is set.
struct clocked : scenario::store_fixture {
    explicit clocked(bool in_process)
        : store_fixture(in_process, [this](config& c) {
              c.advanced.clock = [this] { return now; };
              c.advanced.deny_cache_max_age = 1h;
          }) {}

    time_point now{400'000h};
};

BOOST_AUTO_TEST_SUITE(own_clocks)

BOOST_DATA_TEST_CASE(every_verb_uses_the_clock_of_the_limiter, in_process) {
    auto s = clocked{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        auto& l = s.l->limiter;
        const auto one = policy{"one", fixed_window(1, 1h)};
        const auto bucket = policy{"bucket", gcra(1, 1h)};
        auto d = co_await l.allow("k", one);
        BOOST_TEST((d.server_time == s.now));
        BOOST_TEST((d.reset_after == 1h));
        d = co_await l.allow("k", one);
        BOOST_TEST(!d.allowed());
        s.now += 1h; // without a cached denial that would still be valid
        d = co_await l.peek("k", one);
        BOOST_TEST(d.allowed());
        d = co_await l.charge("k", one);
        BOOST_TEST((d.server_time == s.now));
        d = co_await l.once("id", 1h);
        BOOST_TEST((d.server_time == s.now));
        d = co_await l.wait("k", bucket);
        BOOST_TEST((d.server_time == s.now));
        auto checks =
            std::vector<check_item>{{.key = "a", .policy = one}, {.key = "b", .policy = bucket}};
        d = co_await l.allow_all(checks);
        BOOST_TEST((d.server_time == s.now));
        co_await l.allow_many(checks);
        for (const auto& c : checks)
            BOOST_TEST((c.result.server_time == s.now));
        d = co_await l.allow("k", one, {.now = s.now + 5h}); // a supplied time goes before it
        BOOST_TEST((d.server_time == s.now + 5h));
    });
}

BOOST_DATA_TEST_CASE(a_time_out_of_range_is_an_error, in_process) {
    auto s = clocked{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        const auto one = policy{"one", fixed_window(1, 1h)};
        auto checks = std::vector<check_item>{{.key = "a", .policy = one}};
        for (const auto bad : {time_point{-1us}, time_point::max()}) {
            s.now = bad;
            const auto [ec, d] = co_await s.l->allow("k", one);
            BOOST_TEST((ec == errc::invalid_argument));
            const auto [ec2, d2] =
                co_await s.l->limiter.allow_all(checks, asio::as_tuple(asio::deferred));
            BOOST_TEST((ec2 == errc::invalid_argument));
            BOOST_TEST(ec2.message() == "now: out of range (expected 1970 to 2112)");
        }
    });
}

BOOST_DATA_TEST_CASE(waiting_uses_the_supplied_time_and_real_waits, in_process) {
    auto s = scenario::store_fixture{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        const auto window = policy{"w", fixed_window(1, 40ms).from_first()};
        const auto start = time_point{400'000h};
        const auto first = co_await s.l->limiter.wait("k", window, {.now = start});
        const auto second = co_await s.l->limiter.wait("k", window, {.now = start});
        BOOST_TEST((first.server_time >= start));
        BOOST_TEST(second.allowed());
        BOOST_TEST((second.server_time >= start + 40ms));
        BOOST_TEST((second.server_time <= start + 41ms));
    });
}

BOOST_DATA_TEST_CASE(a_wait_may_begin_at_the_latest_time, in_process) {
    auto s = scenario::store_fixture{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        const auto window = policy{"w", fixed_window(1, 40ms).from_first()};
        const auto latest = time_point{std::chrono::microseconds{limits::max_time}};
        (void)co_await s.l->limiter.allow("k", window, {.now = latest});
        const auto d = co_await s.l->limiter.wait("k", window, {.max_wait = 100ms, .now = latest});
        BOOST_TEST(d.outcome == outcome::denied); // no time passes after the latest one
        BOOST_TEST((d.server_time <= latest));
    });
}

const auto bucket = policy{"bucket", gcra(1, 1h)}.with_failure_mode(failure_mode::local);

/// Charges a bucket's only token, reserves the next one, and cancels that call. Returns when a call
/// would be allowed, according to this time.
asio::awaitable<std::chrono::microseconds> cancelled_wait(limiter& l,
                                                          std::optional<time_point> now) {
    (void)co_await l.allow("k", bucket, {.now = now});
    auto w = scenario::waiter{l, "k", bucket, {.max_wait = 2h, .now = now}};
    const auto reserved = co_await l.peek("k", bucket, {.now = now});
    BOOST_TEST((reserved.retry_after > 1h));
    w.cancel();
    co_await test::until([&] { return w.is_over(); });
    const auto released = co_await l.peek("k", bucket, {.now = now});
    co_return released.retry_after;
}

BOOST_DATA_TEST_CASE(a_cancelled_wait_is_released_at_its_supplied_time, in_process) {
    auto s = scenario::store_fixture{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        BOOST_TEST((co_await cancelled_wait(s.l->limiter, time_point{400'000h}) == 1h));
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_wait_is_released_by_the_clock_of_the_limiter, in_process) {
    auto s = clocked{sample};
    s.l->run([&]() -> asio::awaitable<void> {
        BOOST_TEST((co_await cancelled_wait(s.l->limiter, std::nullopt) == 1h));
    });
}

BOOST_DATA_TEST_CASE(a_cancelled_wait_is_released_in_the_store_of_the_failure_mode, in_process) {
    const auto now = time_point{400'000h};
    auto world = scenario::world{};
    auto l = test::live{world.context, "redis://127.0.0.1:1", [&](config& c) {
                            if (sample)
                                c.advanced.clock = [now] { return now; };
                        }};
    l.run([&]() -> asio::awaitable<void> {
        const auto supplied = sample ? std::nullopt : std::optional{now};
        BOOST_TEST((co_await cancelled_wait(l.limiter, supplied) == 1h));
    });
}

BOOST_AUTO_TEST_CASE(a_wait_that_is_cancelled_in_flight_is_released_at_its_supplied_time) {
    auto s = scenario::store_fixture{false};
    s.l->run([&]() -> asio::awaitable<void> {
        const auto now = time_point{400'000h};
        auto& l = s.l->limiter;
        (void)co_await l.allow("k", bucket, {.now = now});
        const auto sent = l.statistics().batches;
        s.server->stop(); // the reply comes after the call was cancelled
        auto w = scenario::waiter{l, "k", bucket, {.max_wait = 2h, .now = now}};
        co_await test::until([&] { return l.statistics().batches > sent; });
        w.cancel();
        co_await test::until([&] { return w.is_over(); });
        s.server->thaw();
        auto d = co_await l.peek("k", bucket, {.now = now});
        for (auto asked = 1; asked < 1'000 && d.retry_after != 1h; ++asked)
            d = co_await l.peek("k", bucket, {.now = now});
        BOOST_TEST((d.retry_after == 1h));
    });
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::own_clock_test

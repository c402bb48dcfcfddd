// SPDX-License-Identifier: BSL-1.0
//
// A server that goes away while calls of `wait` sleep until the end of a window: the failure mode
// decides when they ask again, and not before.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/decision_text.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string_view>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::wait_outage_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using scenario::fake_redis;
using scenario::waiter;
using std::chrono::steady_clock;
using waiters = std::vector<std::unique_ptr<waiter>>;

constexpr auto period = 2s;
constexpr auto timeout = 100ms;
constexpr auto probe_pause = 500ms;

/// All of them deny a third call until the period has passed.
const std::vector<policy> windows{
    policy{"fixed", fixed_window(2, period).from_first()},
    policy{"packed", fixed_window(2, period).from_first()}.with_storage(storage::shared_hash),
    policy{"log", sliding_log(2, period)},
    policy{"windows", fixed_window(2, period).from_first(), fixed_window(2, 1ms).named("short")},
};

struct trouble {
    std::string_view name;
    void (*begin)(fake_redis&);
};
std::ostream& operator<<(std::ostream& out, const trouble& t) {
    return out << t.name;
}
const std::vector<trouble> troubles{
    {"killed", [](fake_redis& s) { s.kill(); }},
    {"frozen", [](fake_redis& s) { s.stop(); }},
    {"silent", [](fake_redis& s) { s.fall_silent(); }},
    {"full", [](fake_redis& s) { s.is_full = true; }},
};

struct outage : scenario::store_fixture {
    explicit outage(failure_mode mode, fraction part = {})
        : store_fixture(false, [=](config& c) {
              c.timeout = timeout;
              c.advanced.ping_interval = 50ms;
              c.on_failure = mode;
              c.local_fraction = part;
              c.advanced.reconnect_delay_max = probe_pause;
          }) {}

    /// Spends the limit, and lets calls wait until one of them was denied.
    asio::awaitable<waiters> begin(const policy& p, std::size_t n) {
        co_await l->limiter.ready();
        const auto spent = co_await l->limiter.allow("k", p, {.cost = 2});
        BOOST_TEST_REQUIRE(spent.allowed());
        auto all = waiters{};
        while (all.size() < n)
            all.push_back(std::make_unique<waiter>(
                l->limiter, "k", p, wait_options{.max_wait = wait_options::no_max_wait}));
        (void)co_await l->limiter.peek("k", p);
        begun = steady_clock::now();
        co_return all;
    }

    /// Ends when all calls have: none before the end of the window, and all soon after it.
    asio::awaitable<void> finish(const waiters& all) {
        co_await test::until(
            [&] { return std::ranges::all_of(all, [](const auto& w) { return w->is_over(); }); });
        for (const auto& w : all) {
            BOOST_TEST((w->ended - begun >= period - 2ms));
            BOOST_TEST((w->ended - begun <= period + (limits::breaker_failures + 1) * timeout));
        }
    }

    steady_clock::time_point begun;
};

BOOST_AUTO_TEST_SUITE(waiting_in_outages)

BOOST_DATA_TEST_CASE(without_a_mode_for_them_calls_end_with_the_error, troubles) {
    // `local` is not chosen for `wait` by the limiter alone.
    for (const auto mode : {failure_mode::error, failure_mode::local})
        for (const auto& p : windows) {
            auto f = outage{mode};
            f.run([&]() -> asio::awaitable<void> {
                const auto all = co_await f.begin(p, 4);
                sample.begin(*f.server);
                co_await f.finish(all);
                for (const auto& w : all)
                    BOOST_TEST((w->ec == condition::transient || w->ec == errc::outcome_unknown));
            });
        }
}

BOOST_DATA_TEST_CASE(every_call_is_allowed_where_the_mode_says_so, troubles) {
    for (const auto& p : windows) {
        auto f = outage{failure_mode::allow};
        f.run([&]() -> asio::awaitable<void> {
            const auto all = co_await f.begin(p, 4);
            sample.begin(*f.server);
            co_await f.finish(all);
            for (const auto& w : all) {
                BOOST_TEST(w->was_granted());
                BOOST_TEST((w->d.source == decision_source::fail_open));
            }
        });
    }
}

/// Such a denial is not one to wait for: the calls end.
BOOST_DATA_TEST_CASE(every_call_is_denied_where_the_mode_says_so, troubles) {
    for (const auto& p : windows) {
        auto f = outage{failure_mode::deny};
        f.run([&]() -> asio::awaitable<void> {
            const auto all = co_await f.begin(p, 4);
            sample.begin(*f.server);
            co_await f.finish(all);
            for (const auto& w : all) {
                BOOST_TEST_REQUIRE(!*w->ec);
                BOOST_TEST(w->d.outcome == outcome::denied);
                BOOST_TEST((w->d.source == decision_source::fail_closed));
                BOOST_TEST((w->d.retry_after == probe_pause));
            }
        });
    }
}

/// The store in the process has windows of its own, in which the calls wait further.
BOOST_DATA_TEST_CASE(a_chosen_local_store_admits_as_many_per_window, troubles) {
    for (const auto chosen_by_policy : {true, false})
        for (const auto& p : windows) {
            // Half of the limit is 1 per window.
            auto f = outage{failure_mode::local,
                            chosen_by_policy ? fraction{} : fraction{.denominator = 2}};
            const auto& rules = chosen_by_policy ? p.with_failure_mode(failure_mode::local) : p;
            const auto at_once = chosen_by_policy ? std::size_t{2} : 1;
            f.run([&]() -> asio::awaitable<void> {
                const auto all = co_await f.begin(rules, 5);
                sample.begin(*f.server);
                co_await test::until([&] { return all.back()->is_over(); });
                for (std::size_t i = 0; i < all.size(); ++i) {
                    BOOST_TEST_REQUIRE(all[i]->was_granted());
                    BOOST_TEST((all[i]->d.source == decision_source::fallback));
                    BOOST_TEST((all[i]->ended - f.begun >= period - 2ms));
                    if (i < at_once || i % at_once != 0) // it is the first one of its window
                        continue;
                    const auto& before = *all[i - at_once];
                    BOOST_TEST((all[i]->d.server_time - before.d.server_time >= period));
                    BOOST_TEST((all[i]->ended - before.ended <= period + 3 * timeout));
                }
            });
        }
}

BOOST_DATA_TEST_CASE(a_server_that_is_back_in_time_decides_as_if_it_had_stayed, troubles) {
    for (const auto mode : {failure_mode::error, failure_mode::allow, failure_mode::deny})
        for (const auto& p : windows) {
            auto f = outage{mode};
            f.server->keeps_data = true;
            f.run([&]() -> asio::awaitable<void> {
                const auto all = co_await f.begin(p, 2);
                if (sample.name == "silent")
                    f.server->lose_connections();
                else
                    sample.begin(*f.server);
                co_await test::pause_for(200ms);
                f.server->is_full = false;
                f.server->thaw();
                if (sample.name == "killed")
                    f.server->start();
                co_await f.finish(all);
                for (const auto& w : all) {
                    BOOST_TEST_REQUIRE(w->was_granted());
                    BOOST_TEST((w->d.source == decision_source::store));
                    BOOST_TEST((w->ended - f.begun <= period + 2ms));
                }
            });
        }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::wait_outage_test

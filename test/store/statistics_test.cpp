// SPDX-License-Identifier: BSL-1.0
//
// The statistics of a limiter with a server, compared with the server's.

#include "stores.hpp"

#include <support/live_limiter.hpp>
#include <support/script_only.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>

BOOST_AUTO_TEST_SUITE(statistics_on_redis)

namespace {

using namespace colimit;
using namespace colimit::test;
using namespace std::chrono_literals;

const policy two{"two", gcra(2, 1h).burst(2)};

BOOST_AUTO_TEST_CASE(calls_of_one_turn_are_one_batch_and_equal_ones_are_merged) {
    look().must({"FLUSHALL"});
    auto l = live{server().address()};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    auto left = 7;
    const auto count = [&left](error_code ec, const decision&) {
        BOOST_TEST(!ec);
        --left;
    };
    for (const auto* key : {"a", "b", "a", "a", "c"})
        l.limiter.allow(key, two, count);
    l.limiter.allow("c", two, {.cost = 2}, count);
    l.limiter.peek("c", two, count);
    const auto before = l.limiter.statistics();
    BOOST_TEST(before.checks == 7U);
    BOOST_TEST(before.batches == 0U);
    run_until(l.context, [&] { return left == 0; });

    const auto s = l.limiter.statistics();
    BOOST_TEST(s.batches == 1U);
    BOOST_TEST(s.batch_calls == 7U);
    BOOST_TEST(s.batch_keys == 3U);
    BOOST_TEST(s.largest_batch == 3U);
    BOOST_TEST(s.merged == 2U);
    BOOST_TEST(s.allowed == 5U);
    BOOST_TEST(s.denied == 2U);
    BOOST_TEST(s.count(decision_source::store) == 7U);
    BOOST_TEST(s.count(decision_source::deny_cache) == 0U);
    BOOST_TEST(s.cached_denials == 2U);
    BOOST_TEST(s.latency.count() == 7U);
    BOOST_TEST((s.latency.sum() > 0us));
    BOOST_TEST(s.failed == 0U);
}

BOOST_AUTO_TEST_CASE(a_full_batch_leaves_before_the_turn_ends) {
    look().must({"FLUSHALL"});
    auto l = live{server().address(), [](config& c) { c.advanced.batch_size = 4; }};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    auto left = 0;
    const auto ask = [&](std::string_view key) {
        ++left;
        l.limiter.allow(key, two, [&left](error_code ec, const decision& d) {
            BOOST_TEST(!ec);
            BOOST_TEST(d.allowed());
            --left;
        });
    };
    for (const auto* key : {"a", "b", "c"})
        ask(key);
    BOOST_TEST(l.limiter.statistics().batches == 0U);
    ask("d");
    BOOST_TEST(l.limiter.statistics().batches == 1U);
    BOOST_TEST(l.limiter.statistics().bytes_out > 0U);
    ask("e"); // joins the next one, which leaves with the turn
    BOOST_TEST(l.limiter.statistics().batches == 1U);
    run_until(l.context, [&] { return left == 0; });
    BOOST_TEST(l.limiter.statistics().batches == 2U);
    BOOST_TEST(l.limiter.statistics().batch_keys == 5U);
}

BOOST_AUTO_TEST_CASE(bytes_are_those_that_the_server_has_seen, *colimit::test::script_only) {
    auto own = redis_server{};
    auto observer = own.connect();
    const auto seen = [&](std::string_view field) {
        const auto info = observer.must({"INFO", "stats"}).text;
        const auto at = info.find(field) + field.size() + 1;
        return std::stoull(info.substr(at, info.find('\r', at) - at));
    };
    const auto in_before = seen("total_net_input_bytes");
    const auto own_in = seen("total_net_input_bytes") - in_before; // of one call_request about it
    auto l = live{own.address()};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    for (int i = 0; i < 100; ++i)
        l.run([&]() -> asio::awaitable<void> {
            const auto [ec, d] = co_await l.allow("key " + std::to_string(i), two);
            BOOST_TEST(!ec);
        });
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.bytes_out == seen("total_net_input_bytes") - in_before - 2 * own_in);
    BOOST_TEST(s.bytes_in > 100U * 20);
    BOOST_TEST(s.batches == 100U);
    BOOST_TEST(s.script_loads == 2U);
    BOOST_TEST(s.reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(reconnects_and_script_loads_are_counted, *colimit::test::script_only) {
    auto own = redis_server{};
    auto observer = own.connect();
    auto l = live{own.address()};
    const auto loads_counted_by = [](raw_client& observing) {
        const auto loads = calls_of(observing, "script|load");
        BOOST_TEST(loads != 0);
        return static_cast<std::uint64_t>(loads);
    };
    l.run([&] { return l.until_it_works("k", two); });
    BOOST_TEST(l.limiter.statistics().script_loads == 2U); // of the checks, and of the permissions
    BOOST_TEST(l.limiter.statistics().script_loads == loads_counted_by(observer));
    observer.must({"SCRIPT", "FLUSH"});
    l.run([&] { return l.until_it_works("l", two); });
    BOOST_TEST(l.limiter.statistics().script_loads == 3U);
    BOOST_TEST(l.limiter.statistics().script_loads == loads_counted_by(observer));
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    own.restart();
    l.run([&] { return l.until_it_works("k", two); });
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.reconnects == 1U);
    BOOST_TEST(s.script_loads == 5U);
    BOOST_TEST(s.allowed + s.denied + s.failed == s.checks);
}

BOOST_AUTO_TEST_CASE(what_a_cancelled_wait_gives_back_is_no_call) {
    look().must({"FLUSHALL"});
    const policy one{"one", gcra(1, 1h)};
    for (const auto& address : {server().address(), std::string{"memory:"}}) {
        auto l = live{address};
        l.run([&]() -> asio::awaitable<void> {
            (void)co_await l.limiter.allow("k", one);
            asio::cancellation_signal give_up;
            auto code = error_code{};
            auto is_over = false;
            l.limiter.wait(
                "k", one, {.max_wait = 2h},
                asio::bind_cancellation_slot(give_up.slot(), [&](error_code ec, const decision&) {
                    code = ec;
                    is_over = true;
                }));
            // Behind the reservation, and behind its release.
            (void)co_await l.limiter.peek("k", one);
            give_up.emit(asio::cancellation_type::terminal);
            co_await until([&] { return is_over; });
            BOOST_TEST((code == asio::error::operation_aborted));
            const auto d = co_await l.limiter.peek("k", one);
            BOOST_TEST((d.retry_after <= 1h)); // it was released
        });
        const auto s = l.limiter.statistics();
        BOOST_TEST(s.checks == 4U);
        BOOST_TEST(s.allowed == 1U);
        BOOST_TEST(s.denied == 2U);
        BOOST_TEST(s.cancelled == 1U);
        BOOST_TEST(s.failed == 0U);
        if (address != "memory:")
            BOOST_TEST(s.latency.count() == 4U);
    }
}

BOOST_AUTO_TEST_CASE(refused_and_cancelled_calls_are_counted) {
    auto l = live{server().address(), [](config& c) { c.advanced.max_in_flight = 2; }};
    l.run([&]() -> asio::awaitable<void> { (void)co_await l.ready(); });
    auto stop = asio::cancellation_signal{};
    auto left = 3;
    const auto count = [&left](error_code, const decision&) { --left; };
    l.limiter.allow("k", two, asio::bind_cancellation_slot(stop.slot(), count));
    l.limiter.allow("k", two, count);
    l.limiter.allow("k", two, count);
    stop.emit(asio::cancellation_type::terminal);
    run_until(l.context, [&] { return left == 0; });
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.rejected_overload() == 1U);
    BOOST_TEST(s.cancelled == 1U);
    BOOST_TEST(s.failed == 1U);
    BOOST_TEST(s.allowed + s.denied == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace

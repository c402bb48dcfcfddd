// SPDX-License-Identifier: BSL-1.0
//
// If a server does not reply, calls are soon not sent any more, it is probed at its times, and used
// again when it has recovered.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(breaking, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};
const auto busy = std::string{"BUSY Redis is busy running a script. You can only call SCRIPT KILL"};

/// Makes a call, which must end with this code.
asio::awaitable<void> call(live& l, error_code wanted, const policy& p = rules) {
    const auto [ec, d] = co_await l.allow("k", p);
    BOOST_TEST((ec == wanted), ec.message());
}

/// Calls that miss their deadlines, one after another.
asio::awaitable<void> miss(live& l) {
    for (int i = 0; i < limits::breaker_failures; ++i) {
        BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
        co_await call(l, errc::outcome_unknown);
    }
    BOOST_TEST(l.limiter.statistics().breaker_openings == 1U);
}

/// When the server got its commands of this name, after the first `skipped`.
struct arrivals {
    arrivals(fake_redis& server, scenario::world& w, std::string name) {
        server.refuses = [this, &w, name](simulation::words command) {
            if (simulation::is_word(command[0], name))
                times.push_back(w.now());
            return answer ? answer(command) : std::string{};
        };
    }
    arrivals(const arrivals&) = delete;
    arrivals& operator=(const arrivals&) = delete;

    std::vector<std::chrono::microseconds> times;
    std::function<std::string(simulation::words)> answer{};
};

} // namespace

BOOST_AUTO_TEST_CASE(after_five_misses_nobody_waits_for_a_frozen_server) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {});
        server.stop();
        const auto begin = now();
        co_await miss(l);
        BOOST_TEST((now() - begin == limits::breaker_failures * 100ms));
        for (int i = 0; i < 100; ++i)
            co_await call(l, errc::unavailable);
        BOOST_TEST((now() - begin == limits::breaker_failures * 100ms));
    });
}

BOOST_AUTO_TEST_CASE(a_server_that_thaws_is_asked_again_on_the_same_connection) {
    constexpr auto in_flight = 3;
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [&](config& c) {
                      c.timeout = 200ms;
                      c.advanced.batches_in_flight = in_flight;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {});
        server.stop();
        for (int i = 0; i < 2 * limits::breaker_failures; ++i) {
            l.limiter.allow("k", rules, [](error_code, const decision&) {});
            co_await test::pause_for(20ms);
        }
        co_await test::pause_for(200ms);
        BOOST_TEST(l.limiter.statistics().breaker_openings == 1U);
        server.thaw();
        const auto thawed = now();
        co_await l.until_it_works("k", rules);
        BOOST_TEST((now() - thawed < 5ms));
        // The calls in flight were executed once; those waiting behind them were never sent.
        const auto d = co_await l.limiter.peek("k", rules, {.cost = 0});
        BOOST_TEST(d.remaining == 1'000'000 - 1 - in_flight - 1);
    });
    BOOST_TEST(server.connections() == 1);
}

/// A pause lasts between half and all of its length, which doubles from reconnect_delay_min to
/// probe_pause_max.
BOOST_AUTO_TEST_CASE(a_busy_server_is_probed_on_its_connection_at_growing_pauses) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {});
        auto probes = arrivals{server, *this, "PING"};
        server.condition = busy;
        for (int i = 0; i < limits::breaker_failures; ++i)
            co_await call(l, errc::unavailable);
        auto last = now();
        const auto calls = server.calls_of("evalsha");
        BOOST_TEST(server.refusals() == limits::breaker_failures);
        for (auto end = now() + 3s; now() < end;) {
            co_await call(l, errc::unavailable);
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(server.calls_of("evalsha") == calls);
        BOOST_REQUIRE(probes.times.size() >= 8U);
        auto pause = std::chrono::microseconds{config{}.advanced.reconnect_delay_min};
        for (const auto at : probes.times) {
            const auto waited = at - last;
            BOOST_TEST((waited >= pause / 2), waited.count());
            BOOST_TEST((waited <= pause + 1ms), waited.count()); // and the way there
            last = at;
            pause = std::min<std::chrono::microseconds>(2 * pause, limits::probe_pause_max);
        }
        server.condition.clear();
        server.refuses = nullptr;
        const auto works = now();
        co_await l.until_it_works("k", rules);
        BOOST_TEST((now() - works <= limits::probe_pause_max + 3ms));
    });
    BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(probes_are_pings_and_it_takes_several_good_ones) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        auto commands = std::string{};
        auto pings = 0;
        server.refuses = [&](simulation::words command) {
            const auto is_ping = command[0] == "PING";
            commands += is_ping ? 'p' : 'e';
            pings += is_ping ? 1 : 0;
            const auto is_good = is_ping ? pings != 1 && pings != 3 : pings >= 5;
            return std::string{is_good ? "" : "LOADING Redis is loading the dataset in memory"};
        };
        co_await l.until_it_works("k", rules);
        BOOST_TEST(commands == "eeeee"
                               "ppppp" // bad, good, bad, good, good
                               "e");
        server.refuses = nullptr;
    });
    BOOST_TEST(server.connections() == 1);
}

/// After an outage of half a minute the attempts are as far apart as they ever are.
BOOST_AUTO_TEST_CASE(a_server_whose_port_accepts_again_is_asked_again_soon) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 100ms;
                      c.on_failure = failure_mode::local;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int round = 0; round < 7; ++round) {
            server.kill();
            co_await test::pause_for(30s);
            server.start();
            const auto begin = now();
            auto d = co_await l.limiter.allow("k", rules);
            while (d.source != decision_source::store) {
                co_await test::pause_for(1ms);
                d = co_await l.limiter.allow("k", rules);
            }
            BOOST_TEST((now() - begin <= config{}.advanced.reconnect_delay_max + 5ms));
        }
    });
}

/// The pause before each attempt lasts between half and all of its length, which doubles from
/// reconnect_delay_min to reconnect_delay_max.
BOOST_AUTO_TEST_CASE(attempts_to_connect_come_at_growing_pauses) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        server.kill();
        server.attempts.clear();
        auto last = std::chrono::microseconds{os.now()};
        co_await test::pause_for(1min);
        auto pause = std::chrono::microseconds{config{}.advanced.reconnect_delay_min};
        BOOST_TEST(server.attempts.size() > 40U);
        for (const auto at : server.attempts) {
            const auto waited = at - last;
            BOOST_TEST((waited >= pause / 2), waited.count());
            BOOST_TEST((waited <= pause + 1ms), waited.count());
            last = at;
            pause = std::min<std::chrono::microseconds>(2 * pause,
                                                        config{}.advanced.reconnect_delay_max);
        }
        server.start();
        co_await l.until_it_works("k", rules);
        // A call that was answered resets the pause.
        server.kill();
        const auto lost = std::chrono::microseconds{os.now()};
        server.attempts.clear();
        co_await test::until([&] { return !server.attempts.empty(); });
        BOOST_TEST((server.attempts.front() - lost <= config{}.advanced.reconnect_delay_min + 1ms));
    });
}

/// The breaker closes by probes, which are PINGs, and a user may be denied just these.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_ping_alone_is_asked_again) {
    auto server = fake_redis{net};
    server.denied = {"ping"};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 100ms;
                      c.advanced.ping_interval = 50ms;
                  }};
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {});
        server.stop();
        co_await miss(l);
        co_await call(l, errc::unavailable);
        server.thaw();
        const auto thawed = now();
        co_await l.until_it_works("k", rules);
        BOOST_TEST((now() - thawed <= limits::probe_pause_max));
    });
}

/// Each reply to a probe is read long after it came, but the server has replied in time.
BOOST_AUTO_TEST_CASE(it_closes_though_the_event_loop_has_always_other_work) {
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) { c.timeout = 200ms; }};
    auto is_over = false;
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {});
        server.stop();
        co_await miss(l);
        server.thaw();
        const auto work = [&]() -> asio::awaitable<void> {
            while (!is_over) {
                work_for(250ms);
                co_await asio::post(asio::deferred);
            }
        };
        asio::co_spawn(context, work(), test::rethrow);
        // A call whose turn comes a round later is not sent: its deadline has passed by then. The
        // state shows that the breaker has closed.
        const auto is_ready = [&] { return l.limiter.health().state == health_state::ready; };
        const auto end = now() + 10s;
        while (!is_ready() && now() < end)
            (void)co_await l.allow("k", rules);
        BOOST_TEST(is_ready());
        is_over = true;
        co_await l.until_it_works("k", rules);
    });
}

/// Each connection completes its handshake and is lost with the first call.
BOOST_AUTO_TEST_CASE(it_opens_where_connections_are_made_and_serve_nothing) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    server.refuses = [&](simulation::words command) {
        if (command[0] == "EVALSHA" && command[2] != "0")
            after(0us, [&] { server.drop_connections(); });
        return std::string{};
    };
    run([&]() -> asio::awaitable<void> {
        while (l.limiter.statistics().breaker_openings < 3 && now() < 1min) {
            (void)co_await l.allow("k", rules);
            co_await test::pause_for(1ms);
        }
    });
    BOOST_TEST(l.limiter.statistics().breaker_openings == 3U);
    // It opens with each loss after the first few.
    BOOST_TEST(server.connections() <= limits::breaker_failures + 4);
}

/// A transaction begins well there, and its writes are refused.
BOOST_AUTO_TEST_CASE(a_read_only_server_opens_it_without_scripts_too) {
    auto server = fake_redis{net};
    const auto log = policy{"log", sliding_log(1'000, 1h)};
    auto l =
        live{context, server.url(), [](config& c) { c.advanced.mode = execution_mode::multi; }};
    run([&]() -> asio::awaitable<void> {
        co_await call(l, {}, log);
        server.is_read_only = true;
        const auto begin = now();
        while (now() - begin < 30s) {
            co_await call(l, errc::unavailable, log);
            co_await test::pause_for(2ms);
        }
        BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
        // One in half the longest pause at most, and some at the beginning.
        const auto most = 2 * (30s / config{}.advanced.reconnect_delay_max) + 10;
        BOOST_TEST(server.connections() - 1 <= most);
        BOOST_TEST(server.connections() - 1 >= 30s / config{}.advanced.reconnect_delay_max);
        server.is_read_only = false;
        co_await l.until_it_works("k", log);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// If a server does not reply, calls are soon not sent any more, it is probed, and used again when
// it has recovered: with real servers, and with one whose replies the test controls.

#include <redis/connection/liveness.hpp>
#include <support/live_limiter.hpp>
#include <support/scripted_peer.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(breaking)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using steady = std::chrono::steady_clock;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

[[nodiscard]] std::int64_t number_after(std::string_view text, std::string_view name) {
    const auto at = text.find(name);
    auto n = std::int64_t{0};
    if (at != std::string_view::npos)
        std::from_chars(text.data() + at + name.size(), text.data() + text.size(), n);
    return n;
}

/// Calls that miss their deadline one after the other, each in a turn of its own.
asio::awaitable<void> miss(live& l, int calls) {
    auto ended = 0;
    for (int i = 0; i < calls; ++i) {
        l.limiter.allow("k", rules, [&](error_code, const decision&) { ++ended; });
        co_await test::pause_for(20ms);
    }
    co_await test::until([&] { return ended == calls; });
}

/// Stops the server, and continues it when the breaker has opened.
asio::awaitable<void> freeze_until_open(live& l, test::redis_server& server) {
    server.stop();
    co_await miss(l, 2 * limits::breaker_failures);
    co_await l.until_code("k", rules, errc::unavailable);
    server.cont();
}

/// Returns false if this process stood still for so long that the limiter left the connection: idle
/// before the first miss, or silent after it.
[[nodiscard]] bool thaw() {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto connections = [&] {
        return number_after(look.must({"INFO", "stats"}).text, "total_connections_received:");
    };
    constexpr auto on_the_wire = 3;
    static_assert(on_the_wire < limits::breaker_failures);
    constexpr auto timeout = 1s;
    auto l = live{server.address(), [&](config& c) {
                      c.timeout = timeout;
                      c.batches_in_flight = on_the_wire;
                  }};
    auto is_disturbed = false;
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        const auto before = connections();
        const auto idle_since = steady::now();
        const auto [failed, whole] =
            co_await l.limiter.peek("k", rules, check_options{}, asio::as_tuple(asio::deferred));
        server.stop();
        l.limiter.allow("k", rules, [](error_code, const decision&) {});
        co_await test::pause_for(20ms);
        is_disturbed = failed || steady::now() - idle_since >=
                                     std::chrono::microseconds{redis::liveness::doubtful_idleness};
        co_await miss(l, limits::breaker_failures - 1);
        while (l.limiter.statistics().breaker_openings == 0)
            co_await miss(l, 1); // a call that this process was too late to send was no miss
        const auto [ec, d] = co_await l.allow("k", rules);
        BOOST_TEST((ec == errc::unavailable)); // not asked
        server.cont();
        auto left = std::int64_t{-1};
        while (left < 0) {
            const auto [away, now] = co_await l.limiter.peek("k", rules, check_options{},
                                                             asio::as_tuple(asio::deferred));
            left = away ? -1 : now.remaining;
            co_await test::pause_for(1ms);
        }
        is_disturbed = is_disturbed || steady::now() - idle_since >= 5 * timeout;
        if (is_disturbed)
            co_return;
        BOOST_TEST(connections() == before);
        // The calls in flight were executed once; those waiting behind them were never sent.
        BOOST_TEST(left == whole.remaining - on_the_wire);
    });
    return !is_disturbed;
}

} // namespace

BOOST_AUTO_TEST_CASE(after_a_few_misses_nobody_waits_for_a_frozen_server) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 500ms; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        server.stop();
        co_await miss(l, 2 * limits::breaker_failures);
        // A hundred calls that wait in turn would take longer than a test is patient.
        for (int i = 0; i < 100; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::unavailable));
        }
        server.cont();
        co_await l.until_it_works("k", rules);
    });
    BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_thaws_is_asked_again_on_the_same_connection) {
    auto trials = 1;
    while (!thaw() && trials < 20)
        ++trials;
    BOOST_TEST(trials < 20);
}

BOOST_AUTO_TEST_CASE(a_busy_server_is_left_alone_and_its_connection_is_kept) {
    auto server = test::redis_server{{.arguments = {"--busy-reply-threshold", "10"}}};
    auto look = server.connect();
    auto busy = server.connect();
    auto l = live{server.address(), [](config& c) { c.timeout = 5s; }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        const auto connections =
            number_after(look.must({"INFO", "stats"}).text, "total_connections_received:");
        busy.send("*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n");
        co_await l.until_code("k", rules, errc::unavailable);
        for (int i = 0; i < 300; ++i) {
            const auto [ec, d] = co_await l.allow("k", rules);
            BOOST_TEST((ec == errc::unavailable));
        }
        look.must({"SCRIPT", "KILL"});
        co_await l.until_it_works("k", rules);
        BOOST_TEST(number_after(look.must({"INFO", "stats"}).text, "total_connections_received:") ==
                   connections);
        const auto stats = look.must({"INFO", "commandstats"}).text;
        const auto script = stats.substr(stats.find("cmdstat_evalsha:"));
        BOOST_TEST(number_after(script, "rejected_calls=") == limits::breaker_failures);
    });
}

BOOST_AUTO_TEST_CASE(probes_are_pings_and_it_takes_several_good_ones) {
    auto context = asio::io_context{1};
    auto script = test::script_double{rules};
    auto commands = std::string{};
    const auto loading = std::string{"-LOADING Redis is loading the dataset in memory\r\n"};
    const auto pong = std::string{"+PONG\r\n"};
    auto peer = test::scripted_peer{
        context, [&](test::peer_connection& c) -> asio::awaitable<void> {
            co_await c.greet();
            for (int pings = 0;;) {
                const auto words = co_await c.next();
                const auto is_ping = words.at(0) == "PING";
                commands += is_ping ? 'p' : 'e';
                pings += is_ping ? 1 : 0;
                auto answer = loading;
                if (is_ping && pings != 1 && pings != 3) // bad, good, bad, good, good
                    answer = pong;
                if (!is_ping && pings >= 5)
                    answer = script.answer(words);
                co_await c.send(answer);
            }
        }};
    auto limiter = colimit::limiter{context.get_executor(), peer.settings()};
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto end = steady::now() + test::patience;
        auto ec = error_code{errc::unavailable};
        while (ec && steady::now() < end) {
            const auto [code, d] =
                co_await limiter.allow("k", rules, asio::as_tuple(asio::deferred));
            ec = code;
            co_await test::pause_for(1ms);
        }
    });
    BOOST_TEST(commands == "eeeee"
                           "ppppp"
                           "e");
    BOOST_TEST(peer.connections() == 1);
}

BOOST_AUTO_TEST_CASE(a_server_whose_port_accepts_again_is_asked_again_soon) {
    auto server = test::redis_server{{.tcp = true}};
    auto l = live{server.address(), [](config& c) {
                      c.timeout = 100ms;
                      c.on_failure = failure_mode::local;
                  }};
    auto times = std::vector<std::int64_t>{};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.limiter.ready();
        for (int round = 0; round < 7; ++round) {
            server.kill();
            co_await test::pause_for(600ms); // the pauses have grown to their most
            server.start();
            const auto begin = steady::now();
            auto d = co_await l.limiter.allow("k", rules);
            while (d.source != decision_source::store && steady::now() < begin + test::patience) {
                co_await test::pause_for(1ms);
                d = co_await l.limiter.allow("k", rules);
            }
            times.push_back(
                std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - begin)
                    .count());
        }
    });
    std::ranges::sort(times);
    BOOST_TEST_MESSAGE("back on the server after " << times.front() << " to " << times.back()
                                                   << " ms, median " << times[3] << " ms");
    BOOST_TEST(times[3] < 2'000); // 100 and something on a machine that is not busy otherwise
}

/// The breaker closes by probes, which are PINGs, and a user may be denied just these.
BOOST_AUTO_TEST_CASE(a_server_that_refuses_ping_alone_is_asked_again) {
    auto server = test::redis_server{};
    auto look = server.connect();
    look.must({"ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all", "-ping"});
    auto l = live{"unix://u:pw@" + server.socket(), [](config& c) {
                      c.timeout = 500ms;
                      c.ping_interval = 50ms;
                  }};
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        co_await freeze_until_open(l, server);
        co_await l.until_it_works("k", rules);
    });
    BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
}

/// Each reply to a probe is read long after it came, but the server has replied in time.
BOOST_AUTO_TEST_CASE(it_closes_though_the_event_loop_has_always_other_work) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 200ms; }};
    auto is_over = false;
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", rules);
        co_await freeze_until_open(l, server);
        const auto work = [&]() -> asio::awaitable<void> {
            while (!is_over) {
                std::this_thread::sleep_for(250ms);
                co_await asio::post(asio::deferred);
            }
        };
        asio::co_spawn(l.context, work(), test::rethrow);
        // A call whose turn comes a round later is not sent: its deadline has passed by then. The
        // state shows that the breaker has closed.
        const auto is_ready = [&] { return l.limiter.health().state == health_state::ready; };
        const auto end = steady::now() + test::patience / 2;
        while (!is_ready() && steady::now() < end)
            (void)co_await l.allow("k", rules);
        BOOST_TEST(is_ready());
        is_over = true;
        co_await l.until_it_works("k", rules);
    });
}

/// Each connection completes its handshake and is lost with the first call.
BOOST_AUTO_TEST_CASE(it_opens_where_connections_are_made_and_serve_nothing) {
    auto context = asio::io_context{1};
    auto peer = test::scripted_peer{context, [](test::peer_connection& c) -> asio::awaitable<void> {
                                        co_await c.greet();
                                        (void)co_await c.next();
                                        c.close();
                                    }};
    auto limiter = colimit::limiter{context.get_executor(), peer.settings()};
    test::run(context, [&]() -> asio::awaitable<void> {
        const auto end = steady::now() + test::patience;
        while (limiter.statistics().breaker_openings < 3 && steady::now() < end) {
            (void)co_await limiter.allow("k", rules, asio::as_tuple(asio::deferred));
            co_await test::pause_for(1ms);
        }
    });
    BOOST_TEST(limiter.statistics().breaker_openings >= 3U);
    // It opens with each loss after the first few.
    BOOST_TEST(peer.connections() <= limits::breaker_failures + 4);
}

/// A transaction begins well there, and its writes are refused.
BOOST_AUTO_TEST_CASE(a_read_only_server_opens_it_without_scripts_too) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto log = policy{"log", sliding_log(1'000, 1h)};
    auto l = live{server.address(), [](config& c) {
                      c.mode = execution_mode::multi;
                      c.ping_interval = 0ms;
                  }};
    const auto connections = [&] {
        return number_after(look.must({"INFO", "stats"}).text, "total_connections_received:");
    };
    l.run([&]() -> asio::awaitable<void> {
        co_await l.until_it_works("k", log);
        const auto before = connections();
        look.must({"REPLICAOF", "127.0.0.1", "1"});
        const auto begin = steady::now();
        const auto is_open = [&] { return l.limiter.statistics().breaker_openings >= 1; };
        auto took = steady::duration{};
        for (; took < 3s || (!is_open() && took < test::patience); took = steady::now() - begin) {
            const auto [ec, d] = co_await l.allow("k", log);
            BOOST_TEST((ec == errc::unavailable));
            co_await test::pause_for(2ms);
        }
        BOOST_TEST(is_open());
        // One in half the longest pause at most, and some at the beginning.
        const auto made = connections() - before;
        BOOST_TEST(made <= 2 * (took / config{}.reconnect_delay_max) + 10);
        look.must({"REPLICAOF", "NO", "ONE"});
        co_await l.until_it_works("k", log);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Lost, duplicated and swapped messages, and networks that are slow or blocked: no call gets
// another call's result, nothing is executed twice, and each call ends by its deadline.

#include <support/fault_proxy.hpp>
#include <support/live_limiter.hpp>
#include <support/loop_clock.hpp>
#include <support/on_failure.hpp>
#include <support/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(messages)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;
using test::fault;
using test::fault_kind;
using test::way;

const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};
constexpr auto lateness = 1500ms;

/// A server behind a bad network, and its limiter.
struct scene {
    scene(const fault& wrong, const test::live::adjustment& adjust)
        : server(), context(1),
          proxy(context, server.unix_address(),
                [wrong](int connection) { return connection == 1 ? wrong : fault{}; }),
          limiter(context.get_executor(), settings(adjust)), look(server.unix_address()) {}

    [[nodiscard]] config settings(const test::live::adjustment& adjust) const {
        auto c = config{};
        c.server = proxy.address();
        c.timeout = 10s;
        c.advanced.ping_interval = 0ms; // only what the test asks for is sent
        c.advanced.connect_timeout = 10s;
        c.advanced.reconnect_delay_min = 1ms;
        c.advanced.reconnect_delay_max = 5ms;
        test::errors_come_through(c);
        adjust(c);
        return c;
    }

    auto allow(std::string_view key) {
        return limiter.allow(key, rules, asio::as_tuple(asio::deferred));
    }

    test::redis_server server;
    asio::io_context context;
    test::fault_proxy proxy;
    colimit::limiter limiter;
    test::live look; ///< past the network
};

/// Twelve keys that were charged differently, asked all at once in batches of two.
void check_astray(fault_kind kind, way w, std::size_t message) {
    constexpr auto keys = std::int64_t{12};
    auto s = scene{{.kind = kind, .way = w, .message = message}, [](config& c) {
                       c.advanced.batch_size = 2;
                       c.timeout = 1s; // for replies that never come
                   }};
    const auto key = [](std::int64_t i) { return "key " + std::to_string(i); };
    s.look.run([&]() -> asio::awaitable<void> {
        for (std::int64_t i = 0; i < keys; ++i) {
            const auto name = key(i);
            const auto cost = charge_options{.cost = 100 * (i + 1)};
            (void)co_await s.look.limiter.charge(name, rules, cost);
        }
    });
    auto codes = std::vector<error_code>(keys);
    auto remaining = std::vector<std::int64_t>(keys);
    auto done = std::vector<int>(keys);
    test::run(s.context, [&]() -> asio::awaitable<void> {
        co_await s.limiter.ready();
        for (std::int64_t i = 0; i < keys; ++i)
            s.limiter.allow(
                key(i), rules,
                [&, at = static_cast<std::size_t>(i)](error_code ec, const decision& d) {
                    ++done[at];
                    codes[at] = ec;
                    remaining[at] = d.remaining;
                });
        co_await test::until([&] { return std::ranges::count(done, 1) == keys; });
        // It works again: a connection that cannot be trusted was left.
        const auto end = steady::now() + test::patience;
        for (;;) {
            const auto [ec, d] = co_await s.allow("another");
            if (!ec)
                break;
            BOOST_REQUIRE((steady::now() < end));
            co_await test::pause_for(1ms);
        }
    });
    BOOST_TEST(s.proxy.on(1).struck);
    auto unknown = 0;
    s.look.run([&]() -> asio::awaitable<void> {
        for (std::int64_t i = 0; i < keys; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const auto name = key(i);
            const auto d = co_await s.look.limiter.peek(name, rules);
            const auto executed = 1'000'000 - 100 * (i + 1) - d.remaining;
            const auto doubled = kind == fault_kind::duplicate && w == way::to_server;
            BOOST_TEST(executed <= (doubled ? 2 : 1));
            if (codes[at]) { // a call that the machine held up was not sent
                const auto is_unsent = codes[at] == errc::deadline_exceeded;
                BOOST_TEST((is_unsent || codes[at] == errc::outcome_unknown));
                BOOST_TEST((!is_unsent || executed == 0));
                ++unknown;
                continue;
            }
            BOOST_TEST(executed >= 1);
            BOOST_TEST(remaining[at] == 1'000'000 - 100 * (i + 1) - 1);
        }
    });
    // Six batches, three at a time: some are answered, and what goes astray is noticed.
    BOOST_TEST(unknown >=
               (kind == fault_kind::duplicate && message == test::script_handshake + 5 ? 0 : 1));
    BOOST_TEST(unknown < keys);
}

} // namespace

BOOST_AUTO_TEST_CASE(replies_that_are_lost_doubled_or_swapped_answer_no_other_call) {
    for (const auto kind : {fault_kind::drop, fault_kind::duplicate, fault_kind::swap})
        for (const auto message : {test::script_handshake + 1, test::script_handshake + 2})
            BOOST_TEST_CONTEXT("kind " << static_cast<int>(kind) << ", message " << message) {
                check_astray(kind, way::to_client, message);
            }
}

BOOST_AUTO_TEST_CASE(commands_that_are_lost_doubled_or_swapped_are_answered_by_their_own_replies) {
    for (const auto kind : {fault_kind::drop, fault_kind::duplicate, fault_kind::swap})
        for (const auto message : {test::script_handshake + 1, test::script_handshake + 2})
            BOOST_TEST_CONTEXT("kind " << static_cast<int>(kind) << ", message " << message) {
                check_astray(kind, way::to_server, message);
            }
}

BOOST_AUTO_TEST_CASE(a_reply_that_trickles_keeps_no_call_beyond_its_deadline) {
    auto s = scene{{.kind = fault_kind::trickle, .message = test::script_handshake, .pace = 10ms},
                   [](config& c) { c.timeout = 50ms; }};
    test::run(s.context, [&]() -> asio::awaitable<void> {
        co_await s.limiter.ready();
        const auto clock = test::loop_clock{s.context};
        for (auto i = 0; i < limits::breaker_failures - 1; ++i) {
            const auto begin = steady::now();
            const auto begin_by_clock = clock.now();
            const auto [ec, d] = co_await s.allow("k");
            BOOST_TEST((ec == errc::outcome_unknown || ec == errc::deadline_exceeded));
            BOOST_TEST((steady::now() - begin >= 50ms));
            BOOST_TEST((clock.now() - begin_by_clock < 50ms + lateness));
        }
    });
    BOOST_TEST(s.proxy.connections() == 1); // bytes did come
}

BOOST_AUTO_TEST_CASE(a_write_that_is_stuck_keeps_no_call_beyond_its_deadline) {
    constexpr auto calls = 60'000;
    auto s =
        scene{{.kind = fault_kind::deaf, .way = way::to_server, .message = test::script_handshake},
              [](config& c) {
                  c.timeout = 300ms;
                  c.advanced.batch_size = 1024;
                  c.advanced.batches_in_flight = 64; // 15 MB, more than sockets hold
              }};
    test::run(s.context, [&]() -> asio::awaitable<void> {
        co_await s.limiter.ready();
        auto ended = 0;
        auto unknown = 0;
        auto unsent = 0;
        auto decided = 0; // on the next connection
        auto longest = std::chrono::milliseconds{0};
        const auto padding = std::string(200, 'x');
        const auto clock = test::loop_clock{s.context};
        for (auto i = 0; i < calls; ++i) {
            const auto key = padding + std::to_string(i);
            s.limiter.allow(key, rules, [&, asked = clock.now()](error_code ec, const decision&) {
                ++ended;
                unknown += ec == errc::outcome_unknown ? 1 : 0;
                unsent += ec == errc::deadline_exceeded || ec == errc::unavailable ? 1 : 0;
                decided += ec ? 0 : 1;
                longest = std::max(longest, clock.now() - asked);
            });
        }
        co_await test::until([&] { return ended == calls; });
        BOOST_TEST(unknown + unsent + decided == calls);
        BOOST_TEST(unknown > 0);
        BOOST_TEST((longest < 300ms + lateness));
    });
}

BOOST_AUTO_TEST_CASE(where_connections_are_refused_calls_are_told_at_once_until_they_are_not) {
    auto s = scene{{}, [](config& c) {
                       c.advanced.reconnect_delay_min = 400ms; // longer than a call may take
                       c.advanced.reconnect_delay_max = 500ms;
                       c.timeout = 100ms;
                   }};
    test::run(s.context, [&]() -> asio::awaitable<void> {
        co_await s.limiter.ready();
        s.proxy.refuse();
        auto told = 0;
        const auto end = steady::now() + test::patience;
        while (told < 100 && steady::now() < end) {
            const auto [ec, d] = co_await s.allow("k");
            BOOST_TEST(ec.failed());
            told += ec == errc::unavailable ? 1 : 0;
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(told == 100);
        s.proxy.accept();
        auto works = false;
        while (!works && steady::now() < end + test::patience) {
            const auto [ec, d] = co_await s.allow("k");
            works = !ec;
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(works);
    });
}

BOOST_AUTO_TEST_SUITE_END()

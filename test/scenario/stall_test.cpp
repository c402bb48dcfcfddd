// SPDX-License-Identifier: BSL-1.0
//
// An event loop that is blocked by a handler for longer than the timeout of a call. That is not an
// outage of the server: replies that have arrived count, late calls are not sent, and the breaker
// stays closed.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

const auto rules = policy{"p", fixed_window(1'000'000, 24h * 36'500)};

constexpr auto timeout = std::chrono::milliseconds{100};

void set_timeout(config& c) {
    c.timeout = timeout;
}

struct stalled : scenario::world {
    /// Blocks the event loop until all deadlines have passed.
    void work() { work_for(timeout + 50ms); }

    void connect(live& l) {
        run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
    }

    [[nodiscard]] std::int64_t used(live& l, const std::string& key) {
        auto left = std::int64_t{0};
        run([&]() -> asio::awaitable<void> {
            const auto d = co_await l.limiter.peek(key, rules);
            left = d.remaining;
        });
        return 1'000'000 - left;
    }

    fake_redis server{net};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(stalls, stalled)

BOOST_AUTO_TEST_CASE(what_waits_behind_a_long_handler_is_not_sent_after_its_deadline) {
    for (const auto threads : {false, true}) {
        auto l = live{context, server.url(), [threads](config& c) {
                          set_timeout(c);
                          c.thread_safe = threads;
                      }};
        connect(l);
        const auto before = server.calls_of("evalsha");
        const auto bucket = policy{"w", gcra(10, 1h)};
        auto codes = std::vector<error_code>{};
        const auto note = [&](error_code ec, const auto&...) { codes.push_back(ec); };
        auto many = std::array{check_item{"k", rules}, check_item{"l", rules}};
        auto all = std::array{check_item{"k", rules}, check_item{"l", rules}};
        asio::post(context, [&] {
            l.limiter.allow("k", rules, note);
            l.limiter.charge("k", rules, {.cost = 2}, note);
            l.limiter.refund("k", rules, note);
            l.limiter.reset("k", rules, note);
            l.limiter.block("k", rules, 1h, note);
            l.limiter.peek("k", rules, note);
            l.limiter.once("id", 1h, note);
            l.limiter.wait("k", bucket, {.max_wait = 1h}, note);
            l.limiter.allow_many(many, note);
            l.limiter.allow_all(all, note);
            work();
        });
        run_until([&] { return codes.size() == 10; });
        for (std::size_t i = 0; i + 1 < codes.size(); ++i)
            BOOST_TEST((codes[i] == errc::deadline_exceeded), codes[i].message());
        BOOST_TEST(!codes.back());
        for (const auto& c : many)
            BOOST_TEST((c.ec == errc::deadline_exceeded), c.ec.message());
        BOOST_TEST(server.calls_of("evalsha") == before);
        BOOST_TEST(server.keys().keys().empty());
        BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
    }
}

BOOST_AUTO_TEST_CASE(the_same_holds_for_transactions) {
    auto l = live{context, server.url(), [](config& c) {
                      set_timeout(c);
                      c.advanced.mode = execution_mode::multi;
                  }};
    connect(l);
    const auto log = policy{"l", sliding_log(10, 24h)};
    auto early = error_code{};
    auto late = error_code{errc::closed};
    auto ended = 0;
    asio::post(context, [&] {
        l.limiter.allow("k", log, [&](error_code ec, const decision&) {
            early = ec;
            ++ended;
        });
        work();
        l.limiter.allow("l", log, [&](error_code ec, const decision&) {
            late = ec;
            ++ended;
        });
    });
    run_until([&] { return ended == 2; });
    BOOST_TEST((early == errc::deadline_exceeded), early.message());
    BOOST_TEST(!late, late.message());
    BOOST_TEST(server.keys().keys().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_call_made_behind_a_long_handler_has_all_of_its_time) {
    auto l = live{context, server.url(), set_timeout};
    connect(l);
    auto first = error_code{};
    auto second = error_code{errc::closed};
    auto checks = std::array{check_item{"k", rules}, check_item{"l", rules}};
    auto ended = 0;
    asio::post(context, [&] {
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            first = ec;
            ++ended;
        });
    });
    asio::post(context, [&] {
        work();
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            second = ec;
            ++ended;
        });
        l.limiter.allow_many(checks, [&](error_code) { ++ended; });
    });
    run_until([&] { return ended == 3; });
    BOOST_TEST((first == errc::deadline_exceeded), first.message());
    BOOST_TEST(!second, second.message());
    for (const auto& c : checks)
        BOOST_TEST(!c.ec, c.ec.message());
    BOOST_TEST(used(l, "k") == 2);
}

BOOST_AUTO_TEST_CASE(a_call_made_by_a_completion_that_worked_for_long_has_all_of_its_time) {
    auto l = live{context, server.url(), set_timeout};
    connect(l);
    auto early = error_code{};
    auto late = error_code{errc::closed};
    auto ended = 0;
    l.limiter.allow("k", rules, [&](error_code, const decision&) {
        l.limiter.allow("l", rules, [&](error_code ec, const decision&) {
            early = ec;
            ++ended;
        });
        work();
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            late = ec;
            ++ended;
        });
    });
    run_until([&] { return ended == 2; });
    BOOST_TEST((early == errc::deadline_exceeded), early.message());
    BOOST_TEST(!late, late.message());
    BOOST_TEST(used(l, "k") == 2);
    BOOST_TEST(used(l, "l") == 0);
}

BOOST_AUTO_TEST_CASE(work_behind_each_call_does_not_open_the_breaker) {
    auto l = live{context, server.url(), [](config& c) { c.timeout = 200ms; }};
    connect(l);
    for (int i = 0; i < limits::breaker_failures + 3; ++i) {
        auto code = error_code{};
        auto ended = false;
        asio::post(context, [&] {
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                code = ec;
                ended = true;
            });
            work_for(250ms);
        });
        run_until([&] { return ended; });
        BOOST_TEST((code == errc::deadline_exceeded), code.message());
    }
    const auto s = l.limiter.statistics();
    BOOST_TEST(s.breaker_openings == 0U);
    BOOST_TEST(s.reconnects == 0U);
    BOOST_TEST(used(l, "k") == 0);
}

BOOST_AUTO_TEST_CASE(replies_that_came_during_a_stall_are_read_before_their_calls_end) {
    // Whose replies need more than one read of 64 KiB, and fit into the socket's buffer.
    constexpr auto keys = 1'400;
    for (const auto threads : {false, true}) {
        auto l = live{context, server.url(), [threads](config& c) {
                          set_timeout(c);
                          c.advanced.batch_size = keys / 2;
                          c.thread_safe = threads;
                      }};
        connect(l);
        for (int round = 1; round <= limits::breaker_failures + 1; ++round) {
            const auto before = server.calls_of("evalsha");
            auto answered = 0;
            auto ended = 0;
            // Begins when both batches are written, which may need several iterations.
            const auto written = l.limiter.statistics().batches + 2;
            std::function<void()> stall = [&] {
                if (l.limiter.statistics().batches < written)
                    return asio::post(context, [&] { stall(); });
                work_for(timeout / 2);
                BOOST_TEST(server.calls_of("evalsha") == before + 2); // and has replied
                work();
            };
            asio::post(context, [&] {
                for (int i = 0; i < keys; ++i)
                    l.limiter.allow("k" + std::to_string(i), rules,
                                    [&](error_code ec, const decision&) {
                                        answered += ec ? 0 : 1;
                                        ++ended;
                                    });
                asio::post(context, [&] { stall(); });
            });
            const auto read_before = l.limiter.statistics().bytes_in;
            run_until([&] { return ended == keys; });
            BOOST_TEST(answered == keys);
            const auto bytes = l.limiter.statistics().bytes_in - read_before;
            BOOST_TEST_MESSAGE("replies of " << bytes << " bytes");
            BOOST_TEST((round == 1 || bytes > 64U * 1024));
        }
        const auto s = l.limiter.statistics();
        BOOST_TEST(s.breaker_openings == 0U);
        BOOST_TEST(s.reconnects == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_stall_longer_than_the_limit_of_silence_does_not_cost_the_connection) {
    auto l = live{context, server.url(), [](config& c) { c.timeout = 100ms; }};
    connect(l);
    const auto before = server.calls_of("evalsha");
    auto ended = false;
    asio::post(context, [&] {
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            BOOST_TEST(!ec, ec.message());
            ended = true;
        });
        asio::post(context, [&] {
            asio::post(context, [&] {
                work_for(timeout / 2);
                BOOST_TEST(server.calls_of("evalsha") == before + 1);
                work_for(2'500ms);
            });
        });
    });
    run_until([&] { return ended; });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    BOOST_TEST(used(l, "k") == 1);
}

BOOST_AUTO_TEST_CASE(a_silent_server_opens_the_breaker_also_while_the_loop_stalls) {
    auto l = live{context, server.url(), [](config& c) { c.timeout = 200ms; }};
    connect(l);
    server.stop();
    for (int i = 0; i < 2 * limits::breaker_failures; ++i) {
        auto ended = false;
        asio::post(context, [&] {
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                BOOST_TEST(ec);
                ended = true;
            });
            asio::post(context, [&] { work_for(250ms); });
        });
        run_until([&] { return ended; });
    }
    server.thaw();
    BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()

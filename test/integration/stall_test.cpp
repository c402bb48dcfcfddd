// SPDX-License-Identifier: BSL-1.0
//
// An event loop that is blocked by a handler for longer than the timeout of a call. That is not an
// outage of the server: replies that have arrived count, late calls are not sent, and the breaker
// stays closed.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(stalls)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using test::live;
using steady = std::chrono::steady_clock;

const auto rules = policy{"p", fixed_window(1'000'000, 24h * 36'500)};

/// As long as a reply may take on a loaded machine.
constexpr auto timeout = std::chrono::milliseconds{1000};

/// Blocks the event loop until all deadlines have passed.
void work() {
    std::this_thread::sleep_for(timeout + 50ms);
}

void set_timeout(config& c) {
    c.timeout = timeout;
}

/// Blocks, as a handler may, until the server has run so many script calls and sent the replies.
void block_until_answered(test::raw_client& look, std::int64_t script_calls) {
    const auto end = steady::now() + test::patience;
    while (test::calls_of(look, "evalsha") < script_calls && steady::now() < end)
        std::this_thread::yield();
}

[[nodiscard]] std::int64_t used(live& l, const std::string& key) {
    auto left = std::int64_t{0};
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.peek(key, rules);
        left = d.remaining;
    });
    return 1'000'000 - left;
}

void connect(live& l) {
    l.run([&]() -> asio::awaitable<void> { co_await l.limiter.ready(); });
}

} // namespace

BOOST_AUTO_TEST_CASE(what_waits_behind_a_long_handler_is_not_sent_after_its_deadline) {
    auto server = test::redis_server{};
    auto look = server.connect();
    for (const auto threads : {false, true}) {
        auto l = live{server.address(), [threads](config& c) {
                          set_timeout(c);
                          c.thread_safe = threads;
                      }};
        connect(l);
        const auto before = test::calls_of(look, "evalsha");
        const auto bucket = policy{"w", gcra(10, 1h)};
        auto codes = std::vector<error_code>{};
        const auto note = [&](error_code ec, const auto&...) { codes.push_back(ec); };
        auto many = std::array{check_item{"k", rules}, check_item{"l", rules}};
        auto all = std::array{check_item{"k", rules}, check_item{"l", rules}};
        asio::post(l.context, [&] {
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
        test::run_until(l.context, [&] { return codes.size() == 10; });
        for (std::size_t i = 0; i + 1 < codes.size(); ++i)
            BOOST_TEST((codes[i] == errc::deadline_exceeded), codes[i].message());
        BOOST_TEST(!codes.back());
        for (const auto& c : many)
            BOOST_TEST((c.ec == errc::deadline_exceeded), c.ec.message());
        BOOST_TEST(test::calls_of(look, "evalsha") == before);
        BOOST_TEST(look.dbsize() == 0);
        BOOST_TEST(l.limiter.statistics().breaker_openings == 0U);
    }
}

BOOST_AUTO_TEST_CASE(the_same_holds_for_transactions) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) {
                      set_timeout(c);
                      c.mode = execution_mode::multi;
                  }};
    connect(l);
    const auto log = policy{"l", sliding_log(10, 24h)};
    auto early = error_code{};
    auto late = error_code{errc::closed};
    auto ended = 0;
    asio::post(l.context, [&] {
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
    test::run_until(l.context, [&] { return ended == 2; });
    BOOST_TEST((early == errc::deadline_exceeded), early.message());
    BOOST_TEST(!late, late.message());
    BOOST_TEST(look.dbsize() == 1);
}

BOOST_AUTO_TEST_CASE(a_call_made_behind_a_long_handler_has_all_of_its_time) {
    auto server = test::redis_server{};
    auto l = live{server.address(), set_timeout};
    connect(l);
    auto first = error_code{};
    auto second = error_code{errc::closed};
    auto checks = std::array{check_item{"k", rules}, check_item{"l", rules}};
    auto ended = 0;
    asio::post(l.context, [&] {
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            first = ec;
            ++ended;
        });
    });
    asio::post(l.context, [&] {
        work();
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            second = ec;
            ++ended;
        });
        l.limiter.allow_many(checks, [&](error_code) { ++ended; });
    });
    test::run_until(l.context, [&] { return ended == 3; });
    BOOST_TEST((first == errc::deadline_exceeded), first.message());
    BOOST_TEST(!second, second.message());
    for (const auto& c : checks)
        BOOST_TEST(!c.ec, c.ec.message());
    BOOST_TEST(used(l, "k") == 2);
}

BOOST_AUTO_TEST_CASE(a_call_made_by_a_completion_that_worked_for_long_has_all_of_its_time) {
    auto server = test::redis_server{};
    auto l = live{server.address(), set_timeout};
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
    test::run_until(l.context, [&] { return ended == 2; });
    BOOST_TEST((early == errc::deadline_exceeded), early.message());
    BOOST_TEST(!late, late.message());
    BOOST_TEST(used(l, "k") == 2);
    BOOST_TEST(used(l, "l") == 0);
}

BOOST_AUTO_TEST_CASE(work_behind_each_call_does_not_open_the_breaker) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 200ms; }};
    connect(l);
    for (int i = 0; i < limits::breaker_failures + 3; ++i) {
        auto code = error_code{};
        auto ended = false;
        asio::post(l.context, [&] {
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                code = ec;
                ended = true;
            });
            std::this_thread::sleep_for(250ms);
        });
        test::run_until(l.context, [&] { return ended; });
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
    auto server = test::redis_server{};
    auto look = server.connect();
    for (const auto threads : {false, true}) {
        auto l = live{server.address(), [threads](config& c) {
                          set_timeout(c);
                          c.batch_size = keys / 2;
                          c.thread_safe = threads;
                      }};
        connect(l);
        for (int round = 1; round <= limits::breaker_failures + 1; ++round) {
            const auto before = test::calls_of(look, "evalsha");
            auto answered = 0;
            auto ended = 0;
            // Begins when both batches are written, which may need several iterations.
            const auto written = l.limiter.statistics().batches + 2;
            std::function<void()> stall = [&] {
                if (l.limiter.statistics().batches < written)
                    return asio::post(l.context, [&] { stall(); });
                block_until_answered(look, before + 2);
                work();
            };
            asio::post(l.context, [&] {
                for (int i = 0; i < keys; ++i)
                    l.limiter.allow("k" + std::to_string(i), rules,
                                    [&](error_code ec, const decision&) {
                                        answered += ec ? 0 : 1;
                                        ++ended;
                                    });
                asio::post(l.context, [&] { stall(); });
            });
            const auto read_before = l.limiter.statistics().bytes_in;
            test::run_until(l.context, [&] { return ended == keys; });
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
    auto server = test::redis_server{};
    auto look = server.connect();
    auto l = live{server.address(), [](config& c) { c.timeout = 100ms; }};
    connect(l);
    auto ended = false;
    asio::post(l.context, [&] {
        l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
            BOOST_TEST(!ec, ec.message());
            ended = true;
        });
        asio::post(l.context, [&] {
            asio::post(l.context, [&] {
                block_until_answered(look, 1);
                std::this_thread::sleep_for(2'500ms);
            });
        });
    });
    test::run_until(l.context, [&] { return ended; });
    BOOST_TEST(l.limiter.statistics().reconnects == 0U);
    BOOST_TEST(used(l, "k") == 1);
}

BOOST_AUTO_TEST_CASE(a_silent_server_opens_the_breaker_also_while_the_loop_stalls) {
    auto server = test::redis_server{};
    auto l = live{server.address(), [](config& c) { c.timeout = 200ms; }};
    connect(l);
    server.stop();
    for (int i = 0; i < 2 * limits::breaker_failures; ++i) {
        auto ended = false;
        asio::post(l.context, [&] {
            l.limiter.allow("k", rules, [&](error_code ec, const decision&) {
                BOOST_TEST(ec);
                ended = true;
            });
            asio::post(l.context, [] { std::this_thread::sleep_for(250ms); });
        });
        test::run_until(l.context, [&] { return ended; });
    }
    server.cont();
    BOOST_TEST(l.limiter.statistics().breaker_openings >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()

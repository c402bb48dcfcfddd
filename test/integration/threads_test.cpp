// SPDX-License-Identifier: BSL-1.0
//
// One limiter and the threads of a pool. The counts must be correct in spite of races;
// ThreadSanitizer finds undefined behaviour. A campaign:
//
//     COLIMIT_THREAD_CHECKS=10000000 build/test/integration --run_test=threads

#include <colimit/limiter.hpp>
#include <support/asked_number.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

BOOST_AUTO_TEST_SUITE(threads)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

constexpr std::size_t pool_threads = 4;
constexpr int callers = 64;

[[nodiscard]] std::int64_t checks_to_make() {
    return test::asked_number("COLIMIT_THREAD_CHECKS", 100'000);
}

[[nodiscard]] config shared(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.thread_safe = true;
    c.timeout = 30s;
    c.on_failure = failure_mode::error;
    return c;
}

const std::array<std::string, 4> keys{"a", "b", "c", "d"};

/// Exactly so many for each key, within an hour of the first.
constexpr std::int64_t limit = 5'000;
const policy rules{"threads", fixed_window(limit, 1h).from_first()};

struct tally {
    std::atomic<std::int64_t> left;
    std::atomic<std::int64_t> allowed = 0;
    std::atomic<std::int64_t> limited = 0;
    std::atomic<std::int64_t> failed = 0;
    std::atomic<int> running = callers;
};

asio::awaitable<void> call(limiter& l, tally& t, int caller) {
    auto i = static_cast<std::size_t>(caller);
    while (t.left.fetch_sub(1) > 0) {
        const auto [ec, d] =
            co_await l.allow(keys[i++ % keys.size()], rules, asio::as_tuple(asio::use_awaitable));
        ++(ec ? t.failed : d.allowed() ? t.allowed : t.limited);
    }
    --t.running;
}

void check_from_all_threads(const config& settings) {
    auto pool = asio::thread_pool{pool_threads};
    auto limiter = colimit::limiter{pool.get_executor(), settings};
    const auto checks = checks_to_make();
    auto t = tally{.left = checks};
    for (int i = 0; i < callers; ++i)
        if (i % 2 == 0)
            asio::co_spawn(pool, call(limiter, t, i), asio::detached);
        else
            asio::co_spawn(asio::make_strand(pool), call(limiter, t, i), asio::detached);
    auto others = std::int64_t{0}; // from a thread that is none of the pool's
    while (t.running > 0) {
        const auto d = limiter.peek("a", rules, asio::use_future).get();
        BOOST_TEST(d.rules.size() == 1U);
        BOOST_TEST(limiter.statistics().checks > 0U);
        ++others;
    }
    BOOST_TEST(t.failed == 0);
    BOOST_TEST(t.allowed == std::min(checks, limit * static_cast<std::int64_t>(keys.size())));
    BOOST_TEST(t.allowed + t.limited == checks);
    const auto s = limiter.statistics();
    BOOST_TEST(s.checks == static_cast<std::uint64_t>(checks + others));
    BOOST_TEST(s.allowed + s.denied == s.checks);
    limiter.close();
    pool.join();
}

} // namespace

BOOST_AUTO_TEST_CASE(every_thread_of_a_pool_may_ask_one_limiter_in_process) {
    check_from_all_threads(shared("memory:"));
}

BOOST_AUTO_TEST_CASE(every_thread_of_a_pool_may_ask_one_limiter_on_redis) {
    auto server = test::redis_server{};
    check_from_all_threads(shared(server.address()));
}

BOOST_AUTO_TEST_CASE(every_thread_of_a_pool_may_ask_by_tcp_and_without_a_deny_cache) {
    auto server = test::redis_server{{.tcp = true}};
    auto settings = shared(server.address());
    settings.advanced.deny_cache = 0;
    check_from_all_threads(settings);
}

/// Each call is cancelled from its strand, before or after the other threads have answered it.
BOOST_AUTO_TEST_CASE(calls_are_cancelled_while_other_threads_answer_them) {
    auto server = test::redis_server{};
    auto pool = asio::thread_pool{pool_threads};
    auto limiter = colimit::limiter{pool.get_executor(), shared(server.address())};
    const policy open{"open", gcra(1'000'000, 1s)};
    auto ended = std::atomic<int>{0};
    auto strange = std::atomic<int>{0}; // neither answered nor cancelled
    constexpr int rounds = 2'000;
    for (int caller = 0; caller < 8; ++caller)
        asio::co_spawn(
            asio::make_strand(pool),
            [&, caller]() -> asio::awaitable<void> {
                const auto strand = co_await asio::this_coro::executor;
                for (int i = 0; i < rounds; ++i) {
                    auto stop = std::make_shared<asio::cancellation_signal>();
                    auto options = wait_options{.max_wait = 1ms};
                    limiter.wait(
                        "k", open, options,
                        asio::bind_cancellation_slot(
                            stop->slot(),
                            asio::bind_executor(strand, [&, stop](error_code ec, decision) {
                                if (ec && ec != asio::error::operation_aborted)
                                    ++strange;
                                ++ended;
                            })));
                    if (i % 3 != 0)
                        co_await limiter.peek("other", open, asio::use_awaitable);
                    stop->emit(asio::cancellation_type::terminal);
                    if (caller == 0 && i % 50 == 0)
                        (void)limiter.statistics();
                }
            },
            asio::detached);
    while (ended < 8 * rounds)
        std::this_thread::sleep_for(1ms);
    limiter.close();
    pool.join();
    BOOST_TEST(ended == 8 * rounds);
    BOOST_TEST(strange == 0);
}

BOOST_AUTO_TEST_CASE(closing_ends_every_call_whichever_thread_made_it) {
    for (int round = 0; round < 20; ++round) {
        auto server_is_away = shared("unix:/nonexistent/socket");
        auto pool = asio::thread_pool{pool_threads};
        auto limiter = colimit::limiter{pool.get_executor(), server_is_away};
        auto ended = std::atomic<int>{0};
        auto begun = std::atomic<int>{0};
        for (int caller = 0; caller < callers; ++caller)
            asio::co_spawn(
                pool,
                [&]() -> asio::awaitable<void> {
                    for (;;) {
                        ++begun;
                        const auto [ec, d] =
                            co_await limiter.allow("k", rules, asio::as_tuple(asio::use_awaitable));
                        if (ec == errc::closed)
                            break;
                    }
                    ++ended;
                },
                asio::detached);
        while (begun < callers)
            std::this_thread::sleep_for(1ms);
        limiter.close();
        pool.join();
        BOOST_TEST(ended == callers);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// Slots of one limiter, used by the threads of a pool: what a slot guards is not guarded otherwise,
// so that ThreadSanitizer notices two holders of one slot. Slots are also released, destroyed and
// lost in other threads than those that have acquired them.

#include <colimit/limiter.hpp>
#include <support/redis_server.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colimit::slot_threads_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr std::size_t pool_threads = 4;
constexpr int callers = 16;
constexpr std::int64_t grants = 1'000;

const auto one = policy{"one", concurrent(1).lease(1h)};
const auto brief = policy{"brief", concurrent(callers).lease(300ms)};

[[nodiscard]] config shared(const std::string& server) {
    auto c = config{};
    c.server = server;
    c.thread_safe = true;
    c.timeout = 30s;
    c.on_failure = failure_mode::error;
    return c;
}

struct scene {
    std::int64_t done = 0;        ///< guarded by the slot
    std::uint64_t last_token = 0; ///< guarded by the slot
    std::atomic<std::int64_t> left = grants;
    std::atomic<int> strange = 0;
    std::atomic<int> running = callers;
};

asio::awaitable<void> work(limiter& l, scene& of, asio::thread_pool& pool, int caller) {
    const auto patient = acquire_options{.max_wait = wait_options::no_max_wait};
    while (of.left.fetch_sub(1) > 0) {
        auto [ec, got] = co_await l.acquire("k", one, patient, asio::as_tuple(asio::use_awaitable));
        if (ec || !got || got.fencing_token() <= of.last_token) {
            ++of.strange;
            break;
        }
        of.last_token = got.fencing_token();
        ++of.done;
        if (caller % 3 == 0)
            got.release();
        else if (caller % 3 == 1)
            asio::post(pool, [moved = std::move(got)]() mutable { moved.release(); });
    }
    --of.running;
}

void check_from_all_threads(const std::string& server) {
    auto pool = asio::thread_pool{pool_threads};
    auto l = limiter{pool.get_executor(), shared(server)};
    auto of = scene{};
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(pool, work(l, of, pool, i), asio::detached);
    // From a thread that is none of the pool's: one slot is renewed meanwhile, others are released.
    auto held = std::vector<slot>{};
    while (of.running > 0 || l.statistics().slots_renewed + l.statistics().slots_lost == 0) {
        auto more = l.acquire("brief", brief, asio::use_future).get();
        if (more)
            held.push_back(std::move(more));
        else
            held.resize(1);
        for (const auto& s : held)
            (void)s.lost();
    }
    held.clear();
    // A slot may still be on its way to the thread that releases it.
    while (l.peek("k", one, asio::use_future).get().remaining == 0)
        std::this_thread::sleep_for(1ms);
    l.close();
    pool.join();
    BOOST_TEST(of.strange == 0);
    BOOST_TEST(of.done == grants);
    BOOST_TEST(l.statistics().slots_held == 0U);
}

BOOST_AUTO_TEST_SUITE(slots_and_threads)

BOOST_AUTO_TEST_CASE(a_slot_has_one_holder_at_a_time_in_process) {
    check_from_all_threads("memory:");
}

BOOST_AUTO_TEST_CASE(a_slot_has_one_holder_at_a_time_on_redis) {
    auto server = test::redis_server{};
    check_from_all_threads(server.address());
}

// The signal is emitted on the limiter's executor, which therefore is a strand.
BOOST_AUTO_TEST_CASE(a_loss_is_told_on_the_strand_of_the_limiter) {
    auto pool = asio::thread_pool{pool_threads};
    const auto strand = asio::make_strand(pool);
    auto l = limiter{strand, shared("memory:")};
    auto told = std::atomic<int>{0};
    const auto hold = [&](int caller) -> asio::awaitable<void> {
        const auto key = std::to_string(caller);
        auto signal = asio::cancellation_signal{};
        auto is_lost = false;
        signal.slot().assign([&](asio::cancellation_type) { is_lost = true; });
        auto held = co_await l.acquire(key, brief, asio::use_awaitable);
        held.cancel_when_lost(signal);
        (void)co_await l.reset(key, brief, asio::use_awaitable);
        while (!is_lost)
            co_await asio::post(strand, asio::use_awaitable);
        told += held.lost() ? 1 : 0;
    };
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(strand, hold(i), asio::detached);
    while (told < callers)
        std::this_thread::sleep_for(1ms);
    l.close();
    pool.join();
    BOOST_TEST(told == callers);
}

// Each of them at a moment of its own choice.
BOOST_AUTO_TEST_CASE(a_limiter_is_closed_while_threads_release_its_slots) {
    for (int round = 0; round < 50; ++round) {
        auto pool = asio::thread_pool{pool_threads};
        auto l = limiter{pool.get_executor(), shared("memory:")};
        auto begun = std::atomic<int>{0};
        for (int i = 0; i < callers; ++i)
            asio::co_spawn(
                pool,
                [&]() -> asio::awaitable<void> {
                    for (auto is_open = true; is_open; ++begun) {
                        auto [ec, got] =
                            co_await l.acquire("k", brief, asio::as_tuple(asio::use_awaitable));
                        is_open = ec != errc::closed;
                    }
                },
                asio::detached);
        while (begun < callers)
            std::this_thread::yield();
        l.close();
        pool.join();
        BOOST_TEST(l.statistics().slots_held == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_threads_test

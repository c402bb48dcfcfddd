// SPDX-License-Identifier: BSL-1.0
//
// A server that forgets its scripts: no call fails, and nothing is charged twice.

#include <scenario/fake_redis.hpp>
#include <scenario/world.hpp>
#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

BOOST_FIXTURE_TEST_SUITE(script_flush, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;
using scenario::fake_redis;
using test::live;

/// So slow that no token comes back while a test runs.
const auto rules = policy{"p", gcra(1'000'000, 24h * 36'500)};

/// Makes a server forget its scripts every 50 to 500 microseconds, until it is destroyed.
class flusher {
  public:
    flusher(scenario::world& w, fake_redis& of) : world_(w), of_(of) { next(); }

    int flushes = 0;

  private:
    void next() {
        world_.after(std::chrono::microseconds{world_.os.random().between(50, 500)},
                     [this, alive = std::weak_ptr{alive_}] {
                         if (alive.expired())
                             return;
                         of_.forget_scripts();
                         ++flushes;
                         next();
                     });
    }

    scenario::world& world_;
    fake_redis& of_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>();
};

} // namespace

BOOST_AUTO_TEST_CASE(a_flush_between_calls_goes_unnoticed) {
    auto server = fake_redis{net};
    auto l = live{context, server.url()};
    l.run([&]() -> asio::awaitable<void> {
        for (auto left = std::int64_t{999'999}; left > 999'989; --left) {
            const auto d = co_await l.limiter.allow("k", rules);
            BOOST_TEST(d.remaining == left);
            server.forget_scripts();
        }
    });
}

BOOST_AUTO_TEST_CASE(flushes_at_any_moment_cost_no_call_and_charge_none_twice) {
    constexpr auto callers = 64;
    constexpr auto least = 200; // of each, and until the script was forgotten often enough
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 20s;
                      c.advanced.batch_size = 8; // many batches, so that flushes fall between them
                  }};
    auto flushing = flusher{*this, server};
    auto running = callers;
    auto errors = 0;
    auto calls = 0;
    auto granted = 0;
    auto order = 0;
    auto last = std::int64_t{1'000'000};
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&, i]() -> asio::awaitable<void> {
                const auto own = "own " + std::to_string(i);
                for (int n = 0; n < least || flushing.flushes <= 50; ++n) {
                    ++calls;
                    const auto [ec, d] = co_await l.allow("shared", rules);
                    errors += ec ? 1 : 0;
                    granted += d.allowed() ? 1 : 0;
                    order += d.remaining < last ? 0 : 1;
                    last = d.remaining;
                    const auto [own_ec, own_d] = co_await l.allow(own, rules);
                    errors += own_ec ? 1 : 0;
                    if (own_d.remaining != 999'999 - n)
                        ++errors;
                }
                --running;
            },
            test::rethrow);
    run_until([&] { return running == 0; });
    BOOST_TEST(errors == 0);
    BOOST_TEST(server.calls_of("eval") > 10);
    BOOST_TEST(granted == calls);
    BOOST_TEST(order == 0);
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.peek("shared", rules);
        BOOST_TEST(d.remaining == 1'000'000 - calls);
    });
}

// A log and a sketch are keys of their own, which one script call must change with the value or
// not at all.
BOOST_AUTO_TEST_CASE(P9_flushes_double_no_event_and_no_member) {
    constexpr auto callers = 16;
    constexpr auto least = 60;
    const auto all = policy{"all", sliding_log(100'000, 24h * 365), distinct(100'000, 24h * 36'500),
                            fixed_window(1'000'000, 24h * 36'500)};
    auto server = fake_redis{net};
    auto l = live{context, server.url(), [](config& c) {
                      c.timeout = 20s;
                      c.advanced.batch_size = 4;
                  }};
    auto flushing = flusher{*this, server};
    auto running = callers;
    auto errors = 0;
    auto calls = 0;
    for (int i = 0; i < callers; ++i)
        asio::co_spawn(
            l.context,
            [&, i]() -> asio::awaitable<void> {
                const auto member = std::to_string(i);
                for (int n = 0; n < least || flushing.flushes <= 50; ++n) {
                    ++calls;
                    const auto [ec, d] = co_await l.allow("k", all, {.member = member});
                    errors += ec || !d.allowed() ? 1 : 0;
                }
                --running;
            },
            test::rethrow);
    run_until([&] { return running == 0; });
    BOOST_TEST(errors == 0);
    l.run([&]() -> asio::awaitable<void> {
        const auto d = co_await l.limiter.peek("k", all, {.member = "0"});
        BOOST_TEST(d.rules[0].balance == 100'000 - calls);
        BOOST_TEST(d.rules[1].balance == 100'000 - callers);
        BOOST_TEST(d.rules[2].balance == 1'000'000 - calls);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
//
// `wait` while the clock of the store is stepped, in process and on a server: a call is admitted
// when its time has passed, whichever keys other calls wait for, and the calls of one key keep
// their order.

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <scenario/waiter.hpp>
#include <support/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Not an anonymous one: GCC warns where coroutines of data test cases capture its types.
namespace colimit::wait_clock_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::seconds;

const auto quick = policy{"quick", gcra(1, 500ms).burst(1)};
const auto slow = policy{"slow", gcra(1, 1h).burst(1)};

struct fixture : scenario::store_fixture {
    explicit fixture(bool in_process) : store_fixture(in_process) {
        l->run([this]() -> asio::awaitable<void> { (void)co_await l->ready(); });
    }

    void step(seconds by) {
        const auto us = std::chrono::microseconds{by}.count();
        server ? server->step_clock(us) : os.step_system_clock(us);
    }

    /// A caller that has to wait, because the key's only token is taken.
    asio::awaitable<void> take(std::string key, policy p) {
        (void)co_await l->limiter.allow(key, p);
    }
    void wait(std::string_view key, const policy& p) {
        const auto number = ended.size();
        ended.push_back(false);
        l->limiter.wait(key, p, {.max_wait = 48h},
                        [this, number](error_code ec, const decision& d) {
                            if (!ec && d.allowed())
                                order.push_back(number);
                            ended[number] = true;
                        });
    }
    /// Earlier calls have their reservations then.
    asio::awaitable<void> reserved() { (void)co_await l->limiter.peek("k", slow); }

    std::vector<bool> ended;
    std::vector<std::size_t> order; ///< of the calls that were granted
};

constexpr auto in_process = {true, false};

BOOST_AUTO_TEST_SUITE(waiting_with_a_stepped_clock)

BOOST_DATA_TEST_CASE(the_clock_of_the_store_can_be_stepped, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        const auto before = co_await f.l->limiter.peek("k", slow);
        f.step(-3600s);
        const auto after = co_await f.l->limiter.peek("k", slow);
        BOOST_TEST((after.server_time <= before.server_time - 3600s + 1ms));
    });
}

BOOST_DATA_TEST_CASE(a_step_back_puts_no_caller_behind_a_later_one_of_another_key, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        co_await f.take("a", quick);
        f.wait("a", quick);
        co_await f.reserved();
        f.step(-3600s);
        co_await f.take("b", slow);
        f.wait("b", slow);
        co_await test::until([&] { return f.ended[0]; });
        BOOST_TEST((f.order == std::vector<std::size_t>{0}));
        BOOST_TEST((f.now() <= 505ms));
    });
}

BOOST_DATA_TEST_CASE(a_step_back_puts_no_caller_behind_a_flow_of_others, in_process) {
    auto f = fixture{sample};
    f.l->run([&]() -> asio::awaitable<void> {
        co_await f.take("a", quick);
        f.wait("a", quick);
        co_await f.reserved();
        f.step(-3600s);
        for (int i = 0; !f.ended[0] && f.now() < 1s; ++i) {
            const auto key = "flow " + std::to_string(i);
            co_await f.take(key, quick);
            f.wait(key, quick);
            co_await test::pause_for(1ms);
        }
        BOOST_TEST(f.ended[0]);
        BOOST_TEST((f.now() <= 505ms));
    });
}

BOOST_DATA_TEST_CASE(a_step_keeps_the_order_of_the_callers_of_one_key, in_process) {
    for (const auto by : {-1s, 3600s}) {
        auto f = fixture{sample};
        f.l->run([&]() -> asio::awaitable<void> {
            co_await f.take("a", quick);
            f.wait("a", quick);
            f.wait("a", quick);
            co_await f.reserved();
            f.step(by);
            f.wait("a", quick);
            co_await test::until([&] { return f.ended[0] && f.ended[1] && f.ended[2]; });
            BOOST_TEST((f.order == std::vector<std::size_t>{0, 1, 2}));
            // The time that was stepped over is that of the third one, which need not wait.
            const auto third = by > 0s ? 1s : 1'500ms;
            BOOST_TEST((f.now() >= third));
            BOOST_TEST((f.now() <= third + 5ms));
        });
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::wait_clock_test

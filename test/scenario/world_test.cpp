// SPDX-License-Identifier: BSL-1.0
//
// The world itself: time passes exactly, and only while the process waits or works.

#include <scenario/world.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <vector>

BOOST_FIXTURE_TEST_SUITE(worlds, colimit::scenario::world)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
namespace asio = boost::asio;

} // namespace

BOOST_AUTO_TEST_CASE(a_pause_takes_its_time_exactly) {
    run([&]() -> asio::awaitable<void> {
        co_await test::pause_for(1h);
        BOOST_TEST((now() == 1h));
    });
    run_for(10us);
    BOOST_TEST((now() == 1h + 10us));
}

BOOST_AUTO_TEST_CASE(things_happen_outside_while_the_process_works) {
    auto times = std::vector<std::chrono::microseconds>{};
    after(3s, [&] { times.push_back(now()); });
    after(1s, [&] {
        times.push_back(now());
        after(500ms, [&] { times.push_back(now()); });
    });
    asio::post(context, [&] {
        work_for(2s);
        times.push_back(now());
    });
    run_for(10s);
    const auto expected = std::vector<std::chrono::microseconds>{1s, 1'500ms, 2s, 3s};
    BOOST_TEST((times == expected));
}

BOOST_AUTO_TEST_CASE(a_poll_waits_no_longer_than_it_says) {
    BOOST_TEST(context.run_for(70ms) == 0U);
    BOOST_TEST((now() == 0ms)); // there was no work
    auto timer = asio::steady_timer{context, 1s};
    timer.async_wait([](auto) {});
    context.restart();
    BOOST_TEST(context.run_one_for(70ms) == 0U);
    BOOST_TEST((now() == 70ms));
}

BOOST_AUTO_TEST_SUITE_END()

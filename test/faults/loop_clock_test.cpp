// SPDX-License-Identifier: BSL-1.0
//
// The clock of an event loop.

#include <support/coroutine_run.hpp>
#include <support/loop_clock.hpp>
#include <support/unit_test.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <thread>

BOOST_AUTO_TEST_SUITE(loop_clocks)

namespace {

using namespace std::chrono_literals;
using namespace colimit;
using boost::asio::io_context;
using steady = std::chrono::steady_clock;

} // namespace

BOOST_AUTO_TEST_CASE(time_passes_no_faster_than_real_time) {
    auto context = io_context{1};
    const auto begin = steady::now();
    const auto clock = test::loop_clock{context};
    test::run_until(context, [&] { return clock.now() >= 30ms; });
    BOOST_TEST((steady::now() - begin >= 30ms));
}

BOOST_AUTO_TEST_CASE(no_time_passes_while_the_loop_is_held_up) {
    auto context = io_context{1};
    const auto clock = test::loop_clock{context};
    test::run_until(context, [&] { return clock.now() >= 5ms; });
    const auto before = clock.now();
    std::this_thread::sleep_for(200ms);
    context.poll(); // the timer has ended once meanwhile, not 200 times
    BOOST_TEST((clock.now() > before));
    BOOST_TEST((clock.now() - before < 100ms));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_a_clock_that_ends) {
    auto context = io_context{1};
    {
        const auto clock = test::loop_clock{context};
        test::run_until(context, [&] { return clock.now() >= 2ms; });
        std::this_thread::sleep_for(3ms); // so that its timer has ended, unnoticed
    }
    context.restart();
    context.run_for(test::patience); // returns at once
    BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_SUITE_END()

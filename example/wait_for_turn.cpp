// SPDX-License-Identifier: BSL-1.0
//
// A client that keeps within another service's limit: its calls wait instead of being denied, and
// the calls of all processes that share the key are admitted in order.
//
//     wait_for_turn [ADDRESS]

#include <colimit.hpp>
#include <support/run.hpp>

#include <chrono>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The other service's limit: ten calls per second, bursts of two.
const colimit::policy their_limit{"partner-api", colimit::gcra(10, 1s).burst(2)};

asio::awaitable<void> call_them(colimit::limiter& limiter, int number,
                                std::chrono::steady_clock::time_point begin) {
    const auto d = co_await limiter.wait("orders", their_limit, {.max_wait = 500ms});
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (d)
        std::cout << "call " << number << " after about " << passed / 100ms << "00 ms\n";
    else // it would have to wait longer than max_wait; nothing was charged
        std::cout << "call " << number << " gives up: its turn would come too late\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    const auto begin = std::chrono::steady_clock::now();
    auto left = 9;
    asio::steady_timer done{limiter.get_executor(), asio::steady_timer::time_point::max()};
    for (int i = 1; i <= 9; ++i)
        asio::co_spawn(limiter.get_executor(), call_them(limiter, i, begin),
                       [&](const std::exception_ptr& failure) {
                           if (failure)
                               std::rethrow_exception(failure);
                           if (--left == 0)
                               done.cancel();
                       });
    boost::system::error_code ended;
    co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    co_await limiter.reset("orders", their_limit);
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}

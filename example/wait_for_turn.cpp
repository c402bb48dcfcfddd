// SPDX-License-Identifier: BSL-1.0
//
// A client that keeps within another service's limit: its calls wait instead of being denied, and
// the calls of all processes that share the key are admitted in order.
//
//     wait_for_turn [ADDRESS]
//
// `burst(1)` makes the pace even. Without it, `gcra(10, 1s)` admits ten calls at once and then ten
// per second, so 20 in its first second: too many for a service that counts to ten.
//
// While the server of the counters is unavailable, a call of `wait` ends with its error, because
// several processes that each wait for the whole limit would exceed it together. With
// `local_fraction` each of them continues with its part.

#include <colimit.hpp>
#include <support/run.hpp>

#include <chrono>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The other service's limit: ten calls per second.
const colimit::policy their_limit{"partner-api", colimit::gcra(10, 1s).burst(1)};

asio::awaitable<void> call_them(colimit::limiter& limiter, int number,
                                std::chrono::steady_clock::time_point begin) {
    const auto d = co_await limiter.wait("orders", their_limit, {.max_wait = 650ms});
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (d)
        std::cout << "call " << number << " after about " << passed / 100ms << "00 ms\n";
    else // it would have to wait longer than max_wait; nothing was charged
        std::cout << "call " << number << " gives up: its turn would come too late\n";
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    const auto begin = std::chrono::steady_clock::now();
    co_await example::in_parallel(9, [&](int number) { return call_them(limiter, number, begin); });
    co_await limiter.reset("orders", their_limit);
}

int main(int argc, char** argv) {
    colimit::config settings;
    settings.local_fraction = {1, 4}; // one of four processes
    return example::run(argc, argv, show, settings);
}

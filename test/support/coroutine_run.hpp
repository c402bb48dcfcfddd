// SPDX-License-Identifier: BSL-1.0
//
// Runs a coroutine of a test on its context until it has ended, and no longer than is patient. What
// else the context still has to do stays there.

#ifndef COLIMIT_TEST_SUPPORT_COROUTINE_RUN_HPP
#define COLIMIT_TEST_SUPPORT_COROUTINE_RUN_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace colimit::test {

namespace asio = boost::asio;

inline constexpr auto patience = std::chrono::seconds{30};

/// Runs the context until the condition holds.
template<class Condition>
void run_until(asio::io_context& context, Condition holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    context.restart();
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"still waiting"};
        if (context.run_one_for(std::chrono::milliseconds{50}) == 0 && context.stopped())
            context.restart();
    }
}

/// Runs `body`, a function that makes an awaitable; what it throws is thrown here.
template<class Body>
void run(asio::io_context& context, Body body) {
    auto done = false;
    auto failure = std::exception_ptr{};
    asio::co_spawn(context, std::move(body), [&](const std::exception_ptr& e) {
        done = true;
        failure = e;
    });
    run_until(context, [&] { return done; });
    if (failure)
        std::rethrow_exception(failure);
}

inline asio::awaitable<void> pause_for(std::chrono::microseconds time) {
    auto timer = asio::steady_timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::use_awaitable);
}

/// Completes when the condition holds; the loop goes on meanwhile.
template<class Condition>
asio::awaitable<void> until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"the condition does not come to hold"};
        co_await pause_for(std::chrono::milliseconds{1});
    }
}

} // namespace colimit::test

#endif

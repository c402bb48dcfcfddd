// SPDX-License-Identifier: BSL-1.0
//
// Runs coroutines of tests; one co_spawn for all without special requirements.

#include "coroutine_run.hpp"

#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace colimit::test {

void run_until(asio::io_context& context, predicate holds) {
    // A coroutine may itself wait for `patience`; its error says for what, so it must come first.
    const auto end = std::chrono::steady_clock::now() + 4 * patience;
    context.restart();
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"still waiting"};
        if (context.run_one_for(std::chrono::milliseconds{50}) == 0 && context.stopped())
            context.restart();
    }
}

void run(asio::io_context& context, std::function<asio::awaitable<void>()> body) {
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

asio::awaitable<void> pause_for(std::chrono::microseconds time) {
    auto timer = asio::steady_timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> until(predicate holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end)
            throw std::runtime_error{"the condition does not come to hold"};
        co_await pause_for(std::chrono::milliseconds{1});
    }
}

} // namespace colimit::test

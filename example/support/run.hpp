// SPDX-License-Identifier: BSL-1.0
//
// Shared by the small examples: a context, a limiter at the address of the command line, and one
// coroutine; several coroutines at the same time.

#pragma once

#include <colimit/limiter.hpp>

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace example {

/// Runs `show(limiter)`. `NAME [ADDRESS]`: counts are in this process unless an address is given.
///
/// The numbers shown are those of the server, also of a slow one: so calls have much time, and an
/// event on the standard error says if the server does not decide.
template<class Show>
int run(int argc, char** argv, Show show, colimit::config settings = {}) {
    try {
        if (argc > 2)
            throw std::runtime_error{"too many arguments (expected the address of a server)"};
        boost::asio::io_context context;
        settings.server = argc > 1 ? argv[1] : "memory:";
        settings.timeout = std::chrono::seconds{10};
        settings.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
        colimit::limiter limiter{context.get_executor(), settings};
        std::exception_ptr failure;
        boost::asio::co_spawn(context, show(limiter), [&](const std::exception_ptr& e) {
            failure = e;
            limiter.close(); // so that the context ends
        });
        context.run();
        if (failure)
            std::rethrow_exception(failure);
        return 0;
    } catch (const std::exception& e) {
        std::cerr << argv[0] << ": " << e.what() << '\n';
        return 1;
    }
}

/// Runs the coroutines `task(1)` to `task(count)` at the same time, and completes after the last.
template<class Task>
boost::asio::awaitable<void> in_parallel(int count, Task task) {
    namespace asio = boost::asio;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer done{executor, asio::steady_timer::time_point::max()};
    auto left = count;
    std::exception_ptr failure;
    for (int i = 1; i <= count; ++i)
        asio::co_spawn(executor, task(i), [&](const std::exception_ptr& e) {
            if (e)
                failure = e;
            if (--left == 0)
                done.cancel();
        });
    boost::system::error_code ended;
    if (left > 0)
        co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace example

// SPDX-License-Identifier: BSL-1.0
//
// The first program: two rules for logging in, and what becomes of a user who tries too often.
//
//     quickstart                              counts in this process
//     quickstart redis://127.0.0.1:6379       counts in Redis, shared with whoever else does
//
// Only the address differs.

#include <colimit.hpp>

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

// [readme]
namespace asio = boost::asio;
using namespace std::chrono_literals;

// Both rules must allow; a refused call charges neither.
const colimit::policy login{"login", colimit::gcra(2, 1s).burst(3).named("second"),
                            colimit::gcra(5, 1min).named("minute")};

asio::awaitable<bool> may_log_in(colimit::limiter& limiter, std::string_view user) {
    auto d = co_await limiter.allow(user, login); // a refusal is a value, never an error
    if (!d)
        std::cout << user << " is limited by the rule \"" << login[d.binding].name()
                  << "\": try again in " << d.retry_after / 1ms << " ms\n";
    else
        std::cout << user << " may log in, and " << d.remaining << " times more\n";
    co_return d.allowed();
}
// [readme-end]

asio::awaitable<void> show(colimit::limiter& limiter) {
    for (int i = 0; i < 4; ++i)
        co_await may_log_in(limiter, "alice"); // three at once, as the burst says
    co_await may_log_in(limiter, "bob");       // has a count of his own

    // Come back when the limiter said, and it is true.
    auto d = co_await limiter.peek("alice", login);
    asio::steady_timer timer{limiter.get_executor(), d.retry_after};
    std::cout << "... " << d.retry_after / 1ms << " ms later\n";
    co_await timer.async_wait(asio::use_awaitable);
    co_await may_log_in(limiter, "alice");

    // Forget both, as if they had never come: the next run of this program starts afresh.
    co_await limiter.reset("alice", login);
    co_await limiter.reset("bob", login);
}

int main(int argc, char** argv) {
    try {
        asio::io_context context;
        colimit::limiter limiter{context.get_executor(), argc > 1 ? argv[1] : "memory:"};
        std::exception_ptr failure;
        asio::co_spawn(context, show(limiter), [&](std::exception_ptr e) {
            failure = e;
            limiter.close(); // so that the context runs out
        });
        context.run();
        if (failure)
            std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        std::cerr << "quickstart: " << e.what() << '\n';
        return 1;
    }
}

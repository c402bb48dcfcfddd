// SPDX-License-Identifier: BSL-1.0
//
// The first program: two rules for logins, and a user with too many attempts.
//
//     quickstart                              counts in this process
//     quickstart redis://127.0.0.1:6379       counts in Redis, shared with other processes
//     quickstart redis://127.0.0.1 --multi    the same on a server without scripting
//
// Only the address differs, and with MULTI the rules: logs and fixed windows need no script.

#include <colimit.hpp>

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// [readme]
// Both rules must allow; a denied call charges neither.
const colimit::policy login{"login", colimit::gcra(2, 1s).burst(3).named("second"),
                            colimit::gcra(5, 1min).named("minute")};

asio::awaitable<colimit::decision> log_in(colimit::limiter& limiter, std::string_view user,
                                          const colimit::policy& p = login) {
    auto d = co_await limiter.allow(user, p);
    const auto rule = p[d.limiting_rule].name();
    if (d)
        std::cout << user << ": allowed, " << d.remaining << " left by rule " << rule << '\n';
    else // a denial is a value, never an error
        std::cout << user << ": denied by rule " << rule << ", try again in "
                  << d.retry_after.count() << " us\n";
    co_return d;
}
// [readme-end]

const colimit::policy login_with_multi{"login-multi", colimit::sliding_log(3, 1s).named("second"),
                                       colimit::fixed_window(5, 1min).from_first().named("minute")};

asio::awaitable<void> show(colimit::limiter& limiter, const colimit::policy& p) {
    for (int i = 0; i < 3; ++i)
        co_await log_in(limiter, "alice", p); // three at once, as the burst says
    auto d = co_await log_in(limiter, "alice", p);
    co_await log_in(limiter, "bob", p); // has a separate count

    // Retry at `retry_after`, which succeeds: twice, and then the minute is used up too. (With
    // MULTI the time is known to about a thousandth, so another wait may be needed.)
    asio::steady_timer timer{limiter.get_executor()};
    for (int i = 0; i < 2; ++i) {
        while (!d) {
            timer.expires_after(d.retry_after);
            co_await timer.async_wait(asio::use_awaitable);
            d = co_await limiter.peek("alice", p);
        }
        co_await log_in(limiter, "alice", p);
        d = co_await limiter.peek("alice", p);
    }
    co_await log_in(limiter, "alice", p);

    // Reset both keys, so that the next run of this program starts with full limits.
    co_await limiter.reset("alice", p);
    co_await limiter.reset("bob", p);
}

int main(int argc, char** argv) {
    try {
        asio::io_context context;
        colimit::config settings;
        settings.server = argc > 1 ? argv[1] : "memory:";
        const auto with_multi = argc > 2 && std::string_view{argv[2]} == "--multi";
        if (argc > (with_multi ? 3 : 2))
            throw std::runtime_error{"unknown argument (expected ADDRESS, then --multi)"};
        if (with_multi)
            settings.advanced.mode = colimit::execution_mode::multi;
        // Reports why a server cannot be reached, or which permission is missing.
        settings.on_event = [](const colimit::event& e) { std::cerr << "limiter: " << e << '\n'; };
        colimit::limiter limiter{context.get_executor(), settings};
        std::exception_ptr failure;
        const auto& p = with_multi ? login_with_multi : login;
        asio::co_spawn(context, show(limiter, p), [&](const std::exception_ptr& e) {
            failure = e;
            limiter.close(); // so that the context ends
        });
        context.run();
        if (failure)
            std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        std::cerr << "quickstart: " << e.what() << '\n';
        return 1;
    }
}

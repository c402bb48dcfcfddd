// SPDX-License-Identifier: BSL-1.0
//
// The program of README.md, which shows it from the first include on: one user, one rule.
//
//     first                            counts in this process
//     first redis://127.0.0.1:6379     counts in Redis, so the next run continues

#include <boost/asio.hpp>
#include <colimit.hpp>
#include <iostream>
using namespace std::chrono_literals;

boost::asio::awaitable<void> call(colimit::limiter& limiter) {
    for (int i = 0; i < 4; ++i) { // 5 per minute, of which 3 may come at once
        auto d = co_await limiter.allow("alice", colimit::gcra(5, 1min).burst(3));
        std::cout << (d ? "allowed" : "denied") << ", left: " << d.remaining
                  << ", retry after: " << d.retry_after / 1ms << " ms\n";
    }
    limiter.close(); // so that run() returns
}

int main(int argc, char** argv) try {
    boost::asio::io_context context;
    colimit::limiter limiter{context.get_executor(), argc > 1 ? argv[1] : "memory:"};
    co_spawn(context, call(limiter), [](auto e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
} catch (const std::exception& e) {
    std::cerr << "first: " << e.what() << '\n';
    return 1;
}

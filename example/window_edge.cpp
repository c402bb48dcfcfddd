// SPDX-License-Identifier: BSL-1.0
//
// What passes around the end of a minute, and what passes when two tasks race for the last place.
//
//     window_edge [ADDRESS]
//
// With a limit of three per minute, three requests come at 1:59 and three at 2:01. A fixed window
// counts each minute of the clock separately and lets all six pass within two seconds. A sliding
// window still counts 59 sixtieths of the last minute, a log all of it, and a GCRA rule has got
// back a tenth of a token in two seconds.

#include <colimit.hpp>
#include <support/run.hpp>

#include <array>
#include <chrono>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// The times are supplied, so that the program need not wait, and prints the same each time.
constexpr auto start = colimit::time_point{1'700'000'000s - 80s}; // a multiple of a minute

asio::awaitable<void> send_three(colimit::limiter& limiter, const colimit::rule& limit,
                                 std::string_view clock, std::chrono::seconds time) {
    std::cout << "  " << clock << " ";
    colimit::decision d;
    for (int i = 0; i < 3; ++i) {
        d = co_await limiter.allow("edge", limit, {.now = start + time});
        std::cout << ' ' << to_string(d.outcome);
    }
    if (!d)
        std::cout << ", again in " << d.retry_after_seconds() << " s";
    std::cout << '\n';
}

asio::awaitable<void> show_edge(colimit::limiter& limiter) {
    for (const auto& limit : {colimit::fixed_window(3, 1min), colimit::sliding_window(3, 1min),
                              colimit::sliding_log(3, 1min), colimit::gcra(3, 1min)}) {
        std::cout << to_string(limit.kind()) << '\n';
        co_await send_three(limiter, limit, "1:59", 1min + 59s);
        co_await send_three(limiter, limit, "2:01", 2min + 1s);
        co_await limiter.reset("edge", limit, {.now = start});
    }
}

// Two places of three are taken; two tasks want the last one.
constexpr auto three = colimit::fixed_window(3, 1min);

/// Checks, then counts: between these two, another task may check.
asio::awaitable<bool> naively(colimit::limiter& limiter) {
    const auto d = co_await limiter.peek("place", three, {.now = start});
    if (!d)
        co_return false;
    co_await limiter.charge("place", three, {.now = start});
    co_return true;
}

/// Checks and counts in one step.
asio::awaitable<bool> at_once(colimit::limiter& limiter) {
    const auto d = co_await limiter.allow("place", three, {.now = start});
    co_return d.allowed();
}

template<class Take>
asio::awaitable<int> race(colimit::limiter& limiter, Take take) {
    co_await limiter.charge("place", three, {.cost = 2, .now = start});
    auto winners = 0;
    co_await example::in_parallel(2, [&](int) -> asio::awaitable<void> {
        const auto won = co_await take(limiter);
        winners += won ? 1 : 0;
    });
    co_await limiter.reset("place", three, {.now = start});
    co_return winners;
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    co_await show_edge(limiter);
    const auto naive = co_await race(limiter, naively);
    const auto exact = co_await race(limiter, at_once);
    std::cout << "one place left, two tasks: check, then count admits " << naive
              << ", allow admits " << exact << '\n';
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}

// SPDX-License-Identifier: BSL-1.0
//
// `CL.THROTTLE user 15 30 60` of redis-cell, without the module: bursts and 30 per 60 seconds.
//
//     redis_cell [ADDRESS]
//
// redis-cell's first number is not the size of the bucket: `max_burst` is how many calls may come
// at once *in addition to* the one that the rate allows. So 15 admits 16 calls at once, and the
// reply's second integer, the limit, is 16. A funnel (leaky bucket) states its capacity: of 15, it
// admits 15 calls at once and reports 15. Both leak 30 per 60 seconds, one call per two seconds.
//
// `cell` takes redis-cell's numbers as they are, in its order. So a limit that moves from
// CL.THROTTLE stays the same with `cell(15, 30, 60s)` or `leaky_bucket(16, 30, 60s)`.

#include <colimit.hpp>
#include <support/run.hpp>

#include <chrono>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto now = colimit::time_point{1'700'000'000s}; // supplied, so that the output is exact

/// Prints the five integers of CL.THROTTLE: denied, limit, remaining, and the seconds until a retry
/// (-1: none is needed) and until the bucket is empty.
void print(int call, const colimit::decision& d) {
    const auto r = to_cell_reply(d);
    std::cout << "  call " << call << ": " << r.limited << ' ' << r.limit << ' ' << r.remaining
              << ' ' << r.retry_after << ' ' << r.reset_after << '\n';
}

/// Calls until one is denied; prints the first call, the last that is allowed, and the denied one.
asio::awaitable<void> fill(colimit::limiter& limiter, std::string_view title,
                           const colimit::rule& limit) {
    std::cout << title << '\n';
    auto last = co_await limiter.allow("user", limit, {.now = now});
    print(1, last);
    for (int call = 2;; ++call) {
        const auto d = co_await limiter.allow("user", limit, {.now = now});
        if (!d) {
            print(call - 1, last);
            print(call, d);
            break;
        }
        last = d;
    }
    co_await limiter.reset("user", limit, {.now = now});
}

asio::awaitable<void> show(colimit::limiter& limiter) {
    co_await fill(limiter, "CL.THROTTLE user 15 30 60, as cell(15, 30, 60s)",
                  colimit::cell(15, 30, 60s));
    co_await fill(limiter, "a funnel of 15, leaky_bucket(15, 30, 60s)",
                  colimit::leaky_bucket(15, 30, 60s));
}

int main(int argc, char** argv) {
    return example::run(argc, argv, show);
}

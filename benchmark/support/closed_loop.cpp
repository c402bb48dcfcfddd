// SPDX-License-Identifier: BSL-1.0
//
// The callers, the warm-up, the stretch that is measured, and the end.

#include <support/closed_loop.hpp>
#include <support/histogram.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/time_limit.hpp>

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

struct progress {
    std::uint64_t checks = 0;
    std::uint64_t refused = 0;
    std::uint64_t stop_at = 0; ///< the context stops after that many checks
    std::uint32_t callers = 0; ///< that have not ended
    bool ending = false;
    std::exception_ptr failure;
    histogram latencies;
};

asio::awaitable<void> call_again_and_again(const closed_loop& loop, limiter& asked,
                                           asio::io_context& context, progress& p,
                                           std::uint64_t seed) {
    auto keys = random_key{loop.keys, seed};
    auto until_timed = static_cast<std::uint32_t>(seed % loop.time_one_in);
    while (!p.ending) {
        const auto timed = until_timed == 0;
        until_timed = timed ? loop.time_one_in - 1 : until_timed - 1;
        const auto begin = timed ? steady_clock::now() : steady_clock::time_point{};
        const auto d = co_await asked.allow(keys.next(), loop.policy);
        if (timed)
            p.latencies.add(steady_clock::now() - begin);
        p.refused += d.allowed() ? 0U : 1U;
        if (++p.checks == p.stop_at)
            context.stop();
    }
}

void start_callers(const closed_loop& loop, limiter& asked, asio::io_context& context,
                   progress& p) {
    for (; p.callers < loop.callers; ++p.callers)
        asio::co_spawn(context, call_again_and_again(loop, asked, context, p, p.callers),
                       [&p, &asked](const std::exception_ptr& failure) {
                           if (failure)
                               p.failure = failure;
                           if (--p.callers == 0)
                               asked.close(); // or it would keep the context running
                       });
}

void check(const progress& p) {
    if (p.failure)
        std::rethrow_exception(p.failure);
    if (p.refused != 0)
        throw std::runtime_error{std::to_string(p.refused) + " of " + std::to_string(p.checks) +
                                 " checks were refused"};
}

} // namespace

measurement run(const closed_loop& loop, const conditions& c) {
    auto context = asio::io_context{1};
    auto asked = limiter{context.get_executor(), loop.settings};
    auto p = progress{};
    p.stop_at = c.warm_up;
    start_callers(loop, asked, context, p);
    context.run();
    check(p);

    p.latencies = {};
    const auto before = p.checks;
    const auto has_server = loop.settings.server != "memory:";
    const auto limit = time_limit{context, c.seconds};
    const auto spent = meter{has_server ? c.socket : std::string{}};
    context.run();
    auto m = spent.read(p.checks - before);

    p.ending = true;
    context.restart();
    context.run();
    check(p);
    add_percentiles(m, p.latencies);
    return m;
}

} // namespace colimit::benchmark

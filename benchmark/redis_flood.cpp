// SPDX-License-Identifier: BSL-1.0
//
// What does a flood cost? A thousand keys with nine calls of ten over the limit, which is a tenth
// of the calls in one window that outlasts them. Most denials are cached in the process: calls go
// to the server only until their key is at its limit.
//
// So that the limit is a tenth, the number of calls is fixed beforehand: the warm-up shows how many
// there will be in the time.

#include <scenarios.hpp>
#include <support/callers.hpp>
#include <support/meter.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace colimit::benchmark {
namespace {

using std::chrono::steady_clock;

constexpr std::uint32_t flooded_keys = 1'000;
constexpr std::uint32_t flooding_callers = 1024;

/// Returns a tenth of the calls per key.
[[nodiscard]] std::int64_t tenth_of(std::uint64_t calls) {
    return static_cast<std::int64_t>(std::max<std::uint64_t>(calls / 10 / flooded_keys, 1));
}

/// A window from the first call on: an aligned one might end during the measurement.
[[nodiscard]] policy limited_to(std::int64_t limit) {
    return policy{"bench", fixed_window(limit, std::chrono::hours{24}).from_first()};
}

/// Returns the calls per second of a flood like the measured one.
[[nodiscard]] double warm_up(callers& asking, std::uint64_t calls) {
    const auto begin = steady_clock::now();
    asking.call(calls);
    const auto took = std::chrono::duration<double>(steady_clock::now() - begin);
    asking.end();
    asking.reset_keys();
    return static_cast<double>(calls) / took.count();
}

} // namespace

measurement redis_flood(const conditions& c) {
    server{c.socket}.forget_keys();
    auto asking = callers{{.settings = patient(c.socket),
                           .policy = limited_to(tenth_of(c.warm_up)),
                           .callers = flooding_callers,
                           .keys = flooded_keys}};
    const auto calls = static_cast<std::uint64_t>(warm_up(asking, c.warm_up) * c.seconds);
    const auto limit = tenth_of(calls);
    asking.ask_about(limited_to(limit));

    const auto refused_before = asking.refused();
    const auto checks_before = asking.checks();
    asking.call(std::uint64_t{10} * flooding_callers); // the new coroutines' first calls allocate
    asking.latencies = {};
    const auto spent = meter{c.socket};
    asking.call(calls);
    auto m = spent.read(calls);
    asking.end();

    const auto allowed = asking.checks() - checks_before - (asking.refused() - refused_before);
    if (allowed != static_cast<std::uint64_t>(limit) * flooded_keys)
        throw std::runtime_error{std::to_string(allowed) + " calls were allowed, not " +
                                 std::to_string(limit) + " for each key"};
    add_percentiles(m, asking.latencies);
    return m;
}

} // namespace colimit::benchmark

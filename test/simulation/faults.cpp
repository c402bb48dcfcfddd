// SPDX-License-Identifier: BSL-1.0
//
// The faults that every topology has.

#include "faults.hpp"

namespace colimit::simulation {
namespace {

enum class fault : std::uint8_t {
    disturbance, ///< of the topology
    freeze,
    slow,
    forgotten_scripts,
    server_module, ///< it is unloaded or loaded
    dropped_connections,
    cut,
    reset_connection,
    silent_connection,
    late_connection,
    server_clock,
    process_clock,
};

/// Besides disturbances, which are every other fault.
constexpr fault choices[] = {
    fault::freeze,
    fault::freeze,
    fault::slow,
    fault::forgotten_scripts,
    fault::server_module,
    fault::server_module,
    fault::dropped_connections,
    fault::cut,
    fault::reset_connection,
    fault::silent_connection,
    fault::late_connection,
    fault::server_clock,
    fault::process_clock,
};

/// Returns a step of a clock: small or large, in either direction.
[[nodiscard]] std::int64_t random_step(test::rng& random) {
    const auto size = random.magnitude(100 * second);
    return random.percent(50) ? size : -size;
}

void disturb_connection(network& net, const server& of, fault what) {
    auto& random = net.os().random();
    const auto open = net.connections_of(of);
    if (open.empty())
        return;
    auto& c = *open[random.below(open.size())];
    if (what == fault::reset_connection)
        c.reset();
    else if (what == fault::silent_connection)
        c.fall_silent();
    else
        c.delay_until(net.os().now() + random.magnitude(second));
}

void begin(fault what, network& net, deployment& servers) {
    auto& m = net.os();
    auto& random = m.random();
    const auto all = servers.all();
    auto& s = *all[random.below(all.size())];
    const auto& data = servers.servers();
    m.trace("fault", static_cast<std::uint64_t>(what));
    switch (what) {
    case fault::disturbance:
        return servers.disturb();
    case fault::freeze:
        return s.freeze(random.magnitude(3 * second));
    case fault::slow:
        s.set_slowness(random.between(10, 1'000));
        return m.at(m.now() + random.magnitude(second), [&s] { s.set_slowness(1); });
    case fault::forgotten_scripts:
        return data[random.below(data.size())]->forget_scripts();
    case fault::server_module: {
        auto& has_module = data[random.below(data.size())]->has_module;
        has_module = !has_module;
        return;
    }
    case fault::dropped_connections:
        return s.drop_connections();
    case fault::cut:
        s.cut_until = m.now() + random.magnitude(2 * second);
        return;
    case fault::server_clock:
        return data[random.below(data.size())]->step_clock(random_step(random));
    case fault::process_clock:
        return m.step_system_clock(random_step(random));
    default:
        return disturb_connection(net, s, what);
    }
}

} // namespace

void plan_faults(network& net, deployment& servers, std::int64_t from, std::int64_t to) {
    auto& random = net.os().random();
    for (auto left = random.below(9); left > 0; --left) {
        const auto what =
            random.percent(50) ? fault::disturbance : choices[random.below(std::size(choices))];
        net.os().at(random.between(from, to),
                    [what, &net, &servers] { begin(what, net, servers); });
    }
}

weather random_weather(test::rng& random) {
    auto w = weather{};
    w.latency = random.magnitude(5 * millisecond);
    w.jitter = random.magnitude(2 * millisecond);
    if (random.percent(30))
        w.lost_connects = random.below(30);
    if (random.percent(30))
        w.slow_connects = random.below(50);
    if (random.percent(30))
        w.short_reads = random.below(100);
    if (random.percent(20))
        w.spikes = random.below(5);
    if (random.percent(20))
        w.buffer = static_cast<std::size_t>(random.between(4'096, 100'000));
    return w;
}

} // namespace colimit::simulation

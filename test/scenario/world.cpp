// SPDX-License-Identifier: BSL-1.0
//
// Attaches the network to the machine, and runs the event loop.

#include <scenario/world.hpp>

#include <hash/process_secret.hpp>

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace colimit::scenario {
namespace {

/// The secret of a process is made once, so no case may make it on its own machine.
[[nodiscard]] std::uint64_t with_secret(std::uint64_t seed) {
    (void)hash::process_secret();
    return seed;
}

} // namespace

/// All bytes take the same time, so that tests can say when something happens.
bare_world::bare_world(std::uint64_t seed)
    : os(with_secret(seed), simulation::flaw::none), net(os), began_(os.now()) {
    os.attached = &net;
    net.weather.latency = 100;
    net.weather.jitter = 0;
}

std::chrono::microseconds bare_world::now() const noexcept {
    return std::chrono::microseconds{os.now() - began_};
}

void world::run(std::function<asio::awaitable<void>()> body) {
    auto done = false;
    auto failure = std::exception_ptr{};
    asio::co_spawn(context, std::move(body), [&](const std::exception_ptr& e) {
        done = true;
        failure = e;
    });
    run_until([&] { return done; });
    if (failure)
        std::rethrow_exception(failure);
}

/// The machine knows when nothing can happen any more; but timers may go on forever.
void world::run_until(test::predicate holds) {
    const auto end = now() + 3h;
    context.restart();
    while (!holds()) {
        if (context.run_one() == 0)
            throw std::runtime_error{"the event loop has run out of work"};
        if (now() > end)
            throw std::runtime_error{"still waiting after three hours"};
    }
}

void world::run_for(std::chrono::microseconds time) {
    run([time]() -> asio::awaitable<void> { co_await test::pause_for(time); });
}

void bare_world::after(std::chrono::microseconds time, std::function<void()> what) {
    os.at(os.now() + time.count(), std::move(what));
}

} // namespace colimit::scenario

// SPDX-License-Identifier: BSL-1.0
//
// The fixture of scenarios: a test case runs the client on the machine of `simulation`, in virtual
// time, and itself says what happens outside. Every run of a case is the same, and no case depends
// on how fast this machine is.
//
//     BOOST_FIXTURE_TEST_SUITE(outages, scenario::world)
//
//     BOOST_AUTO_TEST_CASE(a_call_ends_by_its_deadline) {
//         auto server = simulation::fake_redis{net};
//         auto l = test::live{context, server.address(), [](config& c) { c.timeout = 100ms; }};
//         run([&]() -> asio::awaitable<void> { ...
//
// Boost.Test reads the clocks, too, but only before the fixture exists, and after it.

#pragma once

#include <simulation/machine.hpp>
#include <simulation/network.hpp>
#include <support/coroutine_run.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>

namespace colimit::scenario {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// A machine and its network; the test has contexts of its own.
struct bare_world {
    explicit bare_world(std::uint64_t seed = 1);

    /// Returns the virtual time since the case began.
    [[nodiscard]] std::chrono::microseconds now() const noexcept;
    /// Something happens outside of the process, after this time.
    void after(std::chrono::microseconds time, std::function<void()> what);
    /// To be called by a handler, as one that works for long: the world goes on meanwhile.
    void work_for(std::chrono::microseconds time) { os.stand_still(time.count()); }

    simulation::machine os;
    simulation::network net;

  private:
    std::int64_t began_;
};

struct world : bare_world {
    using bare_world::bare_world;

    /// Runs the coroutine, and whatever else the context has, until it ends; what it throws is
    /// thrown here.
    void run(std::function<asio::awaitable<void>()> body);
    void run_for(std::chrono::microseconds time);
    void run_until(test::predicate holds);

    asio::io_context context{1};
};

} // namespace colimit::scenario

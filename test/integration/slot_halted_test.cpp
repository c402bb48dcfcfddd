// SPDX-License-Identifier: BSL-1.0
//
// A process that is halted for longer than its lease: another one gets the place, and the halted
// one finds its slot lost at the first look, before its event loop has run a timer.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace colimit::slot_halted_test {

using namespace std::chrono_literals;
namespace asio = boost::asio;

const auto one = policy{"one", concurrent(1).lease(1s)};

asio::awaitable<slot> acquire(test::live& l) {
    const auto patient = acquire_options{.max_wait = wait_options::no_max_wait};
    auto [ec, got] = co_await l.limiter.acquire("k", one, patient, asio::as_tuple(asio::deferred));
    BOOST_TEST(!ec);
    BOOST_TEST(static_cast<bool>(got));
    co_return std::move(got);
}

[[nodiscard]] pid_t start_holder(const std::string& server) {
    const auto pid = ::fork();
    if (pid != 0)
        return pid;
    ::execl("/proc/self/exe", "integration", "--run_test=a_halted_process/holds_a_slot", "--",
            server.c_str(), nullptr);
    std::_Exit(127);
}

BOOST_AUTO_TEST_SUITE(slots_of_halted_processes)

BOOST_AUTO_TEST_CASE(a_slot_is_lost_at_the_first_look_after_a_halt) {
    auto server = test::redis_server{};
    auto look = server.connect();
    const auto holder = start_holder(server.address());
    const auto token = look.must({"BLPOP", "token", "0"}).elements.at(1).text;
    auto status = 0;
    BOOST_REQUIRE(::kill(holder, SIGSTOP) == 0);
    BOOST_REQUIRE(::waitpid(holder, &status, WUNTRACED) == holder);
    BOOST_REQUIRE(WIFSTOPPED(status));
    auto other = test::live{server.address()};
    other.run([&]() -> asio::awaitable<void> {
        const auto next = co_await acquire(other);
        BOOST_TEST(next.fencing_token() > std::stoull(token));
    });
    look.must({"RPUSH", "go", "on"});
    BOOST_REQUIRE(::kill(holder, SIGCONT) == 0);
    BOOST_REQUIRE(::waitpid(holder, &status, 0) == holder);
    BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(a_halted_process)

// Not a test of its own: the process that is halted. Its event loop does not run afterwards.
BOOST_AUTO_TEST_CASE(holds_a_slot, *boost::unit_test::disabled()) {
    const auto& suite = boost::unit_test::framework::master_test_suite();
    BOOST_REQUIRE(suite.argc == 2);
    const auto server = std::string{suite.argv[1]};
    auto look = test::raw_client{server};
    auto l = test::live{server};
    auto held = slot{};
    l.run([&]() -> asio::awaitable<void> { held = co_await acquire(l); });
    look.must({"RPUSH", "token", std::to_string(held.fencing_token())});
    look.must({"BLPOP", "go", "0"});
    BOOST_TEST(held.lost());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::slot_halted_test

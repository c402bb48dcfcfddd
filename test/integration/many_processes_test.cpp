// SPDX-License-Identifier: BSL-1.0
//
// P13: eight processes on one server. Each is this program again, told by its arguments to make
// calls and to add what it was granted to a number on the server; the sum is exact.

#include <support/live_limiter.hpp>
#include <support/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace colimit::many_processes_test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto processes = 8;
constexpr auto coroutines = 16;
constexpr auto calls_each = 25;

/// Less than what is asked for in all, and so slow that nothing comes back.
[[nodiscard]] policy policy_named(std::string_view name) {
    constexpr auto limit = std::int64_t{1000};
    if (name == "bucket")
        return policy{name, gcra(1, 24h * 30).burst(limit)};
    if (name == "log")
        return policy{name, sliding_log(limit, 24h * 365)};
    if (name == "window")
        return policy{name, fixed_window(limit, 24h * 36'500)};
    return policy{name, sliding_log(limit, 24h * 365), fixed_window(limit + 1, 24h * 36'500),
                  gcra(1, 24h * 30).burst(limit + 2)};
}

/// The words behind `--` on the command line.
[[nodiscard]] std::vector<std::string> own_arguments() {
    const auto& suite = boost::unit_test::framework::master_test_suite();
    return {suite.argv + 1, suite.argv + suite.argc};
}

[[nodiscard]] pid_t start_caller(const std::string& server, const std::string& name) {
    const auto pid = ::fork();
    if (pid != 0)
        return pid;
    ::execl("/proc/self/exe", "integration", "--run_test=one_of_many_processes/makes_calls", "--",
            server.c_str(), name.c_str(), nullptr);
    std::_Exit(127);
}

void check_sum(const std::string& name) {
    auto server = test::redis_server{};
    auto look = server.connect();
    auto children = std::array<pid_t, processes>{};
    for (auto& child : children)
        child = start_caller(server.address(), name);
    for (const auto child : children) {
        auto status = 0;
        BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
        BOOST_TEST(status == 0, name);
    }
    BOOST_TEST(look.get("asked").value_or("") ==
               std::to_string(processes * coroutines * calls_each));
    BOOST_TEST(look.get("granted").value_or("") == "1000", name);
}

} // namespace

BOOST_AUTO_TEST_SUITE(many_processes)

BOOST_AUTO_TEST_CASE(P13_eight_processes_are_granted_a_buckets_capacity_exactly) {
    check_sum("bucket");
}

BOOST_AUTO_TEST_CASE(P13_eight_processes_are_granted_a_logs_limit_exactly) {
    check_sum("log");
}

BOOST_AUTO_TEST_CASE(P13_eight_processes_are_granted_a_windows_limit_exactly) {
    check_sum("window");
}

BOOST_AUTO_TEST_CASE(P13_eight_processes_are_granted_the_least_of_several_rules_exactly) {
    check_sum("several");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(one_of_many_processes)

// Not a test of its own: what each of the processes runs.
BOOST_AUTO_TEST_CASE(makes_calls, *boost::unit_test::disabled()) {
    const auto words = own_arguments();
    BOOST_REQUIRE(words.size() == 2U);
    const auto rules = policy_named(words[1]);
    auto l = test::live{words[0], [](config& c) { c.timeout = 30s; }};
    auto running = coroutines;
    auto granted = 0;
    auto asked = 0;
    for (int i = 0; i < coroutines; ++i)
        asio::co_spawn(
            l.context,
            [&]() -> asio::awaitable<void> {
                for (int n = 0; n < calls_each; ++n) {
                    const auto [ec, d] = co_await l.allow("k", rules);
                    BOOST_TEST(!ec);
                    granted += d.allowed() ? 1 : 0;
                    ++asked;
                }
                --running;
            },
            test::rethrow);
    test::run_until(l.context, [&] { return running == 0; });
    auto look = test::raw_client{words[0]};
    look.must({"INCRBY", "granted", std::to_string(granted)});
    look.must({"INCRBY", "asked", std::to_string(asked)});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colimit::many_processes_test

// SPDX-License-Identifier: BSL-1.0
//
// Four processes under one limit: how much does each get, and does the server decide?
//
//     fair_share ADDRESS       example/fair_share starts a server and runs it there
//
// With leases a process takes tokens for several calls at once and decides these calls itself. The
// limit stays exact: together the processes never get more than the capacity and what the rule
// refills meanwhile. Tokens are taken when they are needed, so a process that asks for more gets
// more, and one that asks for little gets all of it while there is enough for all.

#include <colimit/limiter.hpp>

#include <boost/asio.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::int64_t per_second = 5'000;
constexpr auto duration = 2s;
/// Of each process; a caller makes at most 100 calls per second.
constexpr auto callers = std::array{3, 6, 12, 24};

struct counts {
    std::int64_t asked = 0;
    std::int64_t allowed = 0;
    std::int64_t leased = 0; ///< decided without the server
};

asio::awaitable<void> call_for_a_while(colimit::limiter& limiter, const colimit::policy& limit,
                                       int weight, steady_clock::time_point end, counts& made) {
    asio::steady_timer timer{limiter.get_executor()};
    while (steady_clock::now() < end) {
        for (int i = 0; i < weight; ++i) {
            const auto d = co_await limiter.allow("everyone", limit);
            ++made.asked;
            made.allowed += d.allowed() ? 1 : 0;
            made.leased += d.source == colimit::decision_source::lease ? 1 : 0;
        }
        timer.expires_after(10ms);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

/// The calls of one process.
counts run_process(const std::string& server, const colimit::policy& limit, int count, int weight) {
    asio::io_context context;
    colimit::config settings;
    settings.server = server;
    settings.timeout = 10s;
    settings.on_failure = colimit::failure_mode::error; // of a server that is needed here
    colimit::limiter limiter{context.get_executor(), settings};
    counts made;
    std::exception_ptr failure;
    auto left = count;
    const auto end = steady_clock::now() + duration;
    for (int i = 0; i < count; ++i)
        asio::co_spawn(context, call_for_a_while(limiter, limit, weight, end, made),
                       [&](const std::exception_ptr& e) {
                           failure = e ? e : failure;
                           if (--left == 0)
                               limiter.close(); // so that the context ends
                       });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return made;
}

/// Forks a process, which writes its counts to the pipe.
int start(const std::string& server, const colimit::policy& limit, int count, int weight) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0)
        throw std::runtime_error{"pipe failed"};
    const auto pid = fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid == 0) {
        try {
            const auto made = run_process(server, limit, count, weight);
            _exit(write(ends[1], &made, sizeof made) == sizeof made ? 0 : 1);
        } catch (const std::exception& e) {
            std::cerr << "fair_share: " << e.what() << '\n';
            _exit(1);
        }
    }
    close(ends[1]);
    return ends[0];
}

void print(const std::string& name, const counts& c) {
    const auto percent = [](std::int64_t part, std::int64_t all) {
        return std::to_string(all == 0 ? 0 : part * 100 / all) + " %";
    };
    std::cout << std::left << std::setw(10) << name << std::right << std::setw(8) << c.asked
              << std::setw(9) << c.allowed << std::setw(8) << percent(c.allowed, c.asked)
              << std::setw(17) << percent(c.leased, c.asked) << '\n';
}

/// @param weight how often a caller calls every 10 ms
void show(const std::string& server, const std::string& title, const colimit::policy& limit,
          int weight) {
    std::cout << '\n' << title << "\nprocess      asked  allowed   share  without server\n";
    std::cout.flush();
    const auto begin = steady_clock::now();
    std::vector<int> pipes;
    for (const auto count : callers)
        pipes.push_back(start(server, limit, count, weight));
    counts all;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
        counts made;
        const auto bytes = read(pipes[i], &made, sizeof made);
        close(pipes[i]);
        if (bytes != sizeof made)
            throw std::runtime_error{"a process has failed"};
        print(std::to_string(i + 1), made);
        all.asked += made.asked;
        all.allowed += made.allowed;
        all.leased += made.leased;
    }
    while (wait(nullptr) > 0) {
    }
    print("all", all);
    const auto passed = std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now() - begin);
    if (all.allowed > per_second + per_second * passed.count() / 1'000)
        throw std::runtime_error{"more than the limit was allowed"};
}

/// Throws if no limiter accepts the address: otherwise each process would say so.
void check(const std::string& server) {
    boost::asio::io_context context;
    colimit::config settings;
    settings.server = server;
    const colimit::limiter limiter{context.get_executor(), settings};
}

int main(int argc, char** argv) {
    try {
        if (argc != 2)
            throw std::runtime_error{"which server? for example unix:/run/redis/redis.sock"};
        check(argv[1]);
        const auto rule = colimit::gcra(per_second, 1s);
        std::cout << "a limit of " << per_second << " per second for four processes\n";
        show(argv[1], "90 % of the limit is asked for", colimit::policy{"plain", rule}, 1);
        show(argv[1], "90 %, with leases of 100 ms",
             colimit::policy{"leased", rule}.with_leases(100ms), 1);
        show(argv[1], "270 %, with leases of 100 ms",
             colimit::policy{"crowded", rule}.with_leases(100ms), 3);
        std::cout << "\nnever more than the limit\n";
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "fair_share: " << e.what() << '\n';
        return 1;
    }
}

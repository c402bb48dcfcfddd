// SPDX-License-Identifier: BSL-1.0
//
// Processes that share a few slots for work that takes a while, and what becomes of a slot when
// its process crashes or stands still.
//
//     job_slots ADDRESS        example/job_slots starts a server and runs it there
//
// `acquire` gives a slot for the lease of the rule, which the limiter renews while the object
// lives. A process that is killed renews nothing, so its slot is free when the lease ends. A
// process that only stands still may go on later, when another one has its slot: `lost()` tells
// it, and what it writes to must compare fencing tokens, as it may look at `lost()` too early.

#include <colimit/limiter.hpp>

#include <boost/asio.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using colimit::limiter;
using std::chrono::steady_clock;

constexpr int slots = 3;
constexpr int workers = 5;
constexpr int jobs = 25;

/// Two rules at once: so many jobs at a time, and so many per second.
const colimit::policy job_policy{"jobs", colimit::concurrent(slots).lease(30s).named("slots"),
                                 colimit::gcra(20, 1s).burst(5).named("rate")};
const colimit::policy render_policy{"render", colimit::concurrent(slots).lease(400ms)};
const colimit::policy ledger_policy{"ledger", colimit::concurrent(1).lease(200ms)};

constexpr colimit::acquire_options patient{.max_wait = 60s};

/// Something that only one process may write to: it remembers the largest token, and refuses
/// smaller ones.
class ledger {
  public:
    bool write(std::uint64_t token) {
        auto seen = largest_.load();
        while (seen <= token)
            if (largest_.compare_exchange_weak(seen, token))
                return true;
        return false;
    }

  private:
    std::atomic<std::uint64_t> largest_ = 0;
};

/// In memory that all processes share.
struct board {
    std::atomic<int> next_job = 0;
    std::atomic<int> running = 0;
    std::atomic<int> most_running = 0;
    std::atomic<int> done[workers] = {};
    std::atomic<int> slots_taken = 0;
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> renewed = 0;
    ledger shared_ledger;
};

asio::awaitable<void> pause_for(steady_clock::duration time) {
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::use_awaitable);
}

/// Runs `work(limiter)` in this process.
template<class Work>
void run(const std::string& server, Work work) {
    asio::io_context context;
    colimit::config settings;
    settings.server = server;
    settings.timeout = 10s;
    settings.on_failure = colimit::failure_mode::error; // of a server that is needed here
    limiter one{context.get_executor(), settings};
    std::exception_ptr failure;
    asio::co_spawn(context, work(one), [&](const std::exception_ptr& e) {
        failure = e;
        one.close(); // so that the context ends
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
}

/// Runs it in another process, which ends with this one.
template<class Work>
pid_t start(const std::string& server, Work work) {
    const auto pid = fork();
    if (pid < 0)
        throw std::runtime_error{"fork failed"};
    if (pid > 0)
        return pid;
    try {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(server, work);
        _exit(0);
    } catch (const std::exception& e) {
        std::cerr << "job_slots: " << e.what() << '\n';
        _exit(1);
    }
}

/// Returns when the process has ended, or with `WUNTRACED` been stopped, and how.
int wait_for(pid_t pid, int options = 0) {
    auto status = 0;
    if (waitpid(pid, &status, options) != pid)
        throw std::runtime_error{"waitpid failed"};
    return status;
}

void must_end_well(pid_t pid) {
    if (wait_for(pid) != 0)
        throw std::runtime_error{"a process has failed"};
}

std::int64_t milliseconds_since(steady_clock::time_point begin) {
    return std::chrono::ceil<std::chrono::milliseconds>(steady_clock::now() - begin).count();
}

void show_jobs(const std::string& server, board& b) {
    std::cout << jobs << " jobs for " << workers << " processes, at most " << slots
              << " at once and 20 per second in bursts of 5" << std::endl;
    const auto begin = steady_clock::now();
    std::vector<pid_t> pids;
    for (int w = 0; w < workers; ++w)
        pids.push_back(start(server, [&b, w](limiter& l) -> asio::awaitable<void> {
            while (++b.next_job <= jobs) {
                const auto slot = co_await l.acquire("transcoder", job_policy, patient);
                if (!slot)
                    throw std::runtime_error{"no slot within a minute"};
                const auto now = ++b.running;
                for (auto most = b.most_running.load(); now > most;)
                    if (b.most_running.compare_exchange_weak(most, now))
                        break;
                co_await pause_for(40ms); // the work
                --b.running;
                ++b.done[w];
            } // and the slot is released
        }));
    for (const auto pid : pids)
        must_end_well(pid);
    const auto passed = milliseconds_since(begin);
    std::cout << "process    jobs\n";
    for (int w = 0; w < workers; ++w)
        std::cout << std::setw(7) << w + 1 << std::setw(8) << b.done[w] << '\n';
    std::cout << "at most " << b.most_running << " at once, all done after " << passed << " ms\n";
    if (b.most_running > slots || jobs > 5 + 20 * passed / 1'000)
        throw std::runtime_error{"more than the limit was allowed"};
}

void show_crash(const std::string& server, board& b) {
    std::cout << "\nprocesses have all " << slots << " slots, and one of them is killed"
              << std::endl;
    const auto hold = [&b](limiter& l, bool crashes) -> asio::awaitable<void> {
        const auto slot = co_await l.acquire("farm", render_policy, patient);
        ++b.slots_taken;
        while (!b.is_over && !(crashes && b.slots_taken == slots))
            co_await pause_for(5ms);
        if (crashes)
            std::raise(SIGKILL); // so no destructor gives the slot back
        b.renewed += l.statistics().slots_renewed;
    };
    const auto killed = start(server, [&](limiter& l) { return hold(l, true); });
    std::vector<pid_t> others;
    for (int i = 1; i < slots; ++i)
        others.push_back(start(server, [&](limiter& l) { return hold(l, false); }));
    if (const auto status = wait_for(killed); !WIFSIGNALED(status))
        throw std::runtime_error{"a process has failed"};
    const auto begin = steady_clock::now();
    run(server, [&](limiter& l) -> asio::awaitable<void> {
        const auto slot = co_await l.acquire("farm", render_policy, patient);
        std::cout << "its slot is free again after " << milliseconds_since(begin)
                  << " ms, with a lease of 400 ms\n";
        co_await pause_for(400ms);
    });
    b.is_over = true;
    for (const auto pid : others)
        must_end_well(pid);
    std::cout << "the others have renewed theirs " << b.renewed << " times\n";
}

void show_fencing(const std::string& server, board& b) {
    std::cout << "\na process stands still while it has the only slot of a ledger" << std::endl;
    const auto pid = start(server, [&](limiter& l) -> asio::awaitable<void> {
        const auto slot = co_await l.acquire("2026", ledger_policy, patient);
        const auto was_lost = slot.lost();
        std::raise(SIGSTOP); // as a machine that is suspended, or out of memory
        const auto is_written = b.shared_ledger.write(slot.fencing_token());
        std::cout << "it goes on, and believes to have the slot: its late write is "
                  << (is_written ? "accepted" : "refused") << "\nnow it sees that its slot is "
                  << (slot.lost() ? "lost" : "held") << std::endl;
        if (was_lost || is_written || !slot.lost())
            throw std::runtime_error{"two processes have written at once"};
    });
    if (const auto status = wait_for(pid, WUNTRACED); !WIFSTOPPED(status))
        throw std::runtime_error{"a process has failed"};
    run(server, [&](limiter& l) -> asio::awaitable<void> {
        const auto slot = co_await l.acquire("2026", ledger_policy, patient);
        std::cout << "another one has the slot, with a larger token: its write is "
                  << (b.shared_ledger.write(slot.fencing_token()) ? "accepted" : "refused")
                  << std::endl;
    });
    kill(pid, SIGCONT);
    must_end_well(pid);
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
        auto* const memory =
            mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::runtime_error{"no shared memory"};
        auto& shared = *new (memory) board;
        show_jobs(argv[1], shared);
        show_crash(argv[1], shared);
        show_fencing(argv[1], shared);
        std::cout << "\nnever more than the slots\n";
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "job_slots: " << e.what() << '\n';
        return 1;
    }
}

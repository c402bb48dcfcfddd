// SPDX-License-Identifier: BSL-1.0
//
// How long do calls on the nodes of a cluster take while another node is frozen (SIGSTOP), compared
// with before? One limiter and three masters; other calls need the node that freezes. Started by
// benchmark/frozen_node/run.

#include <support/histogram.hpp>
#include <support/redis_cluster.hpp>
#include <support/result.hpp>
#include <support/usual_tags.hpp>

#include <colimit/limiter.hpp>

#include <CLI/CLI.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace colimit::benchmark {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using steady = std::chrono::steady_clock;

constexpr std::size_t frozen = 0; ///< the first node
constexpr std::size_t slots_of_first = 16'384 / 3;
constexpr auto key_count = 10'000;
/// Callers that need the frozen node pause after each call, as the fallback decides at once.
constexpr auto callers_on_frozen = 4;
constexpr auto pause_on_frozen = 5ms;

struct options {
    double seconds = 3;
    int rounds = 5;
    int callers = 16;
};

/// Runs this thread, and the processes that it starts from now on, on one core if there are two.
void use_core(unsigned core) {
    if (std::thread::hardware_concurrency() < 2)
        return;
    auto cores = cpu_set_t{};
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (::sched_setaffinity(0, sizeof cores, &cores) != 0)
        throw std::runtime_error{"cannot choose a core"};
}

[[nodiscard]] test::redis_cluster started() {
    use_core(0);
    // Nodes that are busy are not taken for dead ones: then a cluster without a majority stops.
    return test::redis_cluster{{.arguments = {"--cluster-require-full-coverage", "no",
                                              "--cluster-node-timeout", "15000"}}};
}

class bench {
  public:
    explicit bench(const options& o) : cluster_(started()), limiter_(executor(), settings()) {
        use_core(1);
        for (auto i = 0; i < key_count; ++i) {
            auto key = "user:" + std::to_string(i);
            const auto is_on_frozen = test::slot_of(key) < slots_of_first;
            (is_on_frozen ? on_frozen_ : elsewhere_).push_back(std::move(key));
        }
        for (auto i = 0; i < o.callers; ++i)
            spawn(call_elsewhere(static_cast<std::size_t>(i)));
        for (auto i = 0; i < callers_on_frozen; ++i)
            spawn(call_on_frozen(static_cast<std::size_t>(i)));
        run_for(1s); // everything is connected
    }

    /// Returns the latencies of calls on the other nodes during this time.
    [[nodiscard]] measurement measure(double seconds) {
        latencies_ = {};
        calls_ = undecided_ = 0;
        run_for(
            std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{seconds}));
        auto m = measurement{.checks_per_s = static_cast<double>(calls_) / seconds};
        add_percentiles(m, latencies_);
        return m;
    }

    [[nodiscard]] std::string last_error() const {
        const auto last = limiter_.last_error();
        return last ? to_string(*last) : "none";
    }
    /// Returns how many of these calls were not decided by a node.
    [[nodiscard]] std::uint64_t undecided() const noexcept { return undecided_; }

    void freeze() { cluster_.stop(frozen); }
    void thaw() {
        cluster_.cont(frozen);
        is_frozen_decided_ = false;
        while (!is_frozen_decided_)
            run_for(10ms);
        run_for(500ms);
    }

  private:
    [[nodiscard]] asio::io_context::executor_type executor() { return context_.get_executor(); }

    [[nodiscard]] config settings() const {
        auto made = config{};
        made.server = "redis+cluster://" + cluster_.endpoint(1) + ',' + cluster_.endpoint(2);
        return made;
    }

    void spawn(asio::awaitable<void> calls) {
        asio::co_spawn(context_, std::move(calls), [](const std::exception_ptr& failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    }

    void run_for(steady::duration time) {
        context_.restart();
        context_.run_for(time);
    }

    asio::awaitable<void> call_elsewhere(std::size_t next) {
        for (;; next += 7) {
            const auto begin = steady::now();
            const auto d = co_await limiter_.allow(elsewhere_[next % elsewhere_.size()], policy_);
            latencies_.add(steady::now() - begin);
            ++calls_;
            undecided_ += d.source == decision_source::store ? 0U : 1U;
        }
    }

    asio::awaitable<void> call_on_frozen(std::size_t next) {
        auto timer = asio::steady_timer{context_};
        for (;; next += 7) {
            const auto d = co_await limiter_.allow(on_frozen_[next % on_frozen_.size()], policy_);
            is_frozen_decided_ = is_frozen_decided_ || d.source == decision_source::store;
            timer.expires_after(pause_on_frozen);
            co_await timer.async_wait(asio::use_awaitable);
        }
    }

    asio::io_context context_{1};
    test::redis_cluster cluster_;
    limiter limiter_;
    policy policy_{"p", gcra(1'000'000, 1h)};
    std::vector<std::string> on_frozen_;
    std::vector<std::string> elsewhere_;
    histogram latencies_;
    std::uint64_t calls_ = 0;
    std::uint64_t undecided_ = 0;
    bool is_frozen_decided_ = false;
};

void run(const options& o) {
    auto b = bench{o};
    auto medians = std::vector<double>{};
    auto tails = std::vector<double>{};
    auto undecided = std::uint64_t{0};
    std::puts(
        "|         | calls/s before, frozen | p50 us before, frozen | p99 us before, frozen | "
        "ratio |");
    for (auto i = 1; i <= o.rounds; ++i) {
        const auto before = b.measure(o.seconds);
        undecided += b.undecided();
        b.freeze();
        const auto during = b.measure(o.seconds);
        undecided += b.undecided();
        b.thaw();
        medians.push_back(*during.p50_us / *before.p50_us);
        tails.push_back(*during.p99_us / *before.p99_us);
        std::printf("| round %d | %10.0f, %10.0f | %9.1f, %9.1f | %9.1f, %9.1f | %5.2f |\n", i,
                    before.checks_per_s, during.checks_per_s, *before.p50_us, *during.p50_us,
                    *before.p99_us, *during.p99_us, tails.back());
    }
    std::printf("median of the ratios: p50 %.2f, p99 %.2f; %ju calls not decided by a node\n",
                median(medians), median(tails), std::uintmax_t{undecided});
    if (undecided != 0)
        std::printf("last error: %s\n", b.last_error().c_str());
}

} // namespace
} // namespace colimit::benchmark

int main(int argc, char** argv) {
    auto o = colimit::benchmark::options{};
    auto app = CLI::App{"Latencies on a cluster beside a frozen node"};
    app.add_option("--seconds", o.seconds, "How long before each freeze, and how long frozen")
        ->check(CLI::Range(0.1, 60.0));
    app.add_option("--rounds", o.rounds, "How often")->check(CLI::Range(1, 1000));
    app.add_option("--callers", o.callers, "On the nodes that work")->check(CLI::Range(1, 4096));
    CLI11_PARSE(app, argc, argv);
    try {
        colimit::benchmark::run(o);
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "frozen_node: " << e.what() << '\n';
        return 1;
    }
}

// SPDX-License-Identifier: BSL-1.0
//
// What does `thread_safe` cost? One limiter for all threads of a context: each call locks, and
// operations on the socket go through a strand. One thread shows the cost, two the gain.

#include <scenarios.hpp>
#include <support/meter.hpp>
#include <support/random_key.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <colimit/limiter.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;

constexpr std::uint32_t callers_of_all = 256;

class shared_limiter {
  public:
    shared_limiter(unsigned threads, const conditions& c)
        : context_(static_cast<int>(threads)), limiter_(context_.get_executor(), settings(c)) {
        for (std::uint32_t i = 0; i < callers_of_all; ++i)
            asio::co_spawn(context_, call_again_and_again(counts_.emplace_back(), i),
                           [this](const std::exception_ptr& failure) {
                               if (failure)
                                   fail(failure);
                           });
        for (auto i = 0U; i < threads; ++i)
            at_work_.emplace_back([this] { context_.run(); });
    }

    [[nodiscard]] std::uint64_t checks() const noexcept {
        auto sum = std::uint64_t{0};
        for (const auto& one : counts_)
            sum += one.checks.load(std::memory_order_relaxed);
        return sum;
    }

    [[nodiscard]] bool has_failed() {
        const auto lock = std::scoped_lock{mutex_};
        return failure_ != nullptr;
    }

    /// Waits for the callers' pending calls. Throws the error of a failed one.
    void end() {
        ending_ = true;
        at_work_.clear();
        if (failure_)
            std::rethrow_exception(failure_);
    }

  private:
    /// One per caller, so that counters share no cache line.
    struct alignas(64) count {
        std::atomic<std::uint64_t> checks = 0;
    };

    [[nodiscard]] static config settings(const conditions& c) {
        auto made = patient(c.socket);
        made.thread_safe = true;
        return made;
    }

    void fail(const std::exception_ptr& failure) {
        const auto lock = std::scoped_lock{mutex_};
        failure_ = failure;
        context_.stop();
    }

    asio::awaitable<void> call_again_and_again(count& own, std::uint64_t seed) {
        auto keys = random_key{server_keys, seed};
        while (!ending_.load(std::memory_order_relaxed)) {
            const auto d = co_await limiter_.allow(keys.next(), policy_);
            if (!d.allowed())
                throw std::runtime_error{"a check was refused"};
            own.checks.store(own.checks.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
        }
        // The limiter's own operations must not keep the threads running.
        if (--open_ == 0)
            context_.stop();
    }

    policy policy_ = thousand_an_hour();
    std::deque<count> counts_;
    std::atomic<bool> ending_ = false;
    std::atomic<std::uint32_t> open_ = callers_of_all;
    std::mutex mutex_;
    std::exception_ptr failure_;
    asio::io_context context_;
    limiter limiter_;
    std::vector<std::jthread> at_work_;
};

} // namespace

measurement redis_shared(const conditions& c, unsigned threads) {
    using namespace std::chrono_literals;
    server{c.socket}.forget_keys();
    auto asking = shared_limiter{threads, c};
    while (asking.checks() < c.warm_up && !asking.has_failed())
        std::this_thread::sleep_for(1ms);
    const auto before = asking.checks();
    const auto spent = meter{c.socket};
    std::this_thread::sleep_for(std::chrono::duration<double>{c.seconds});
    const auto m = spent.read(asking.checks() - before);
    asking.end();
    return m;
}

} // namespace colimit::benchmark

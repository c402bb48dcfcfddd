// SPDX-License-Identifier: BSL-1.0
//
// Four processes under the same limits, which share the client's core. What do leases save if each
// process sees a quarter of the calls only; and how much of a load below the limit is denied since
// others hold tokens that they do not need?

#include <scenarios.hpp>
#include <support/callers.hpp>
#include <support/processes.hpp>
#include <support/rules.hpp>
#include <support/server.hpp>

#include <colimit/limiter.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <exception>
#include <random>
#include <string>

namespace colimit::benchmark {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto processes = 4U;

[[nodiscard]] policy with_leases(const policy& p, std::chrono::milliseconds length) {
    return length == 0ms ? p : p.with_leases(length);
}

/// Calls that come at random, at 90 % of the limit in all processes together.
class steady_load {
  public:
    steady_load(const conditions& c, policy p, unsigned process)
        : conditions_(c), policy_(std::move(p)), random_(process + 1),
          limiter_(context_.get_executor(), patient(c.socket)) {}

    [[nodiscard]] process_counts run(const std::function<void()>& begin) {
        call_for(1s); // after the start, when tokens are few, and without an estimate of demand
        begin();
        counts_ = {};
        call_for(std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::duration<double>{conditions_.seconds}));
        limiter_.close();
        return counts_;
    }

    static constexpr auto keys = std::array{"a", "b", "c", "d", "e", "f", "g", "h"};
    static constexpr auto limit_per_s = 1'000;

  private:
    void call_for(std::chrono::microseconds time) {
        context_.restart();
        auto failure = std::exception_ptr{};
        asio::co_spawn(context_, start_calls(time), [&](const std::exception_ptr& e) {
            failure = e;
            context_.stop();
        });
        context_.run();
        if (failure)
            std::rethrow_exception(failure);
    }

    /// Those of a millisecond begin together.
    asio::awaitable<void> start_calls(std::chrono::microseconds time) {
        auto each_ms = std::poisson_distribution{0.9 * limit_per_s * keys.size() / processes / 1e3};
        auto timer = asio::steady_timer{context_};
        const auto start = std::chrono::steady_clock::now();
        for (auto at = 0ms; at < time; at += 1ms) {
            timer.expires_at(start + at);
            co_await timer.async_wait(asio::use_awaitable);
            for (auto n = each_ms(random_); n > 0; --n)
                call();
        }
        while (open_ != 0) {
            timer.expires_after(1ms);
            co_await timer.async_wait(asio::use_awaitable);
        }
    }

    void call() {
        ++open_;
        limiter_.allow(keys[random_() % keys.size()], policy_,
                       [this](const error_code& failure, const decision& d) {
                           --open_;
                           if (failure)
                               throw boost::system::system_error{failure};
                           ++counts_.checks;
                           counts_.allowed += d.allowed() ? 1U : 0U;
                           counts_.leased += d.source == decision_source::lease ? 1U : 0U;
                       });
    }

    const conditions& conditions_;
    policy policy_;
    std::mt19937_64 random_;
    asio::io_context context_{1};
    limiter limiter_;
    std::uint64_t open_ = 0;
    process_counts counts_;
};

/// Takes all that the keys have at the start, which would hide what is denied later.
void use_up(const conditions& c, const policy& p) {
    auto context = asio::io_context{1};
    auto limiter = colimit::limiter{context.get_executor(), patient(c.socket)};
    auto open = steady_load::keys.size();
    for (const auto* key : steady_load::keys)
        limiter.charge(key, p, {.cost = p[0].capacity()},
                       [&](const error_code& failure, const decision&) {
                           if (failure)
                               throw boost::system::system_error{failure};
                           if (--open == 0)
                               limiter.close();
                       });
    context.run();
}

} // namespace

measurement redis_processes_4(const conditions& c, std::chrono::milliseconds length) {
    server{c.socket}.forget_keys();
    const auto loop = closed_loop{.settings = patient(c.socket),
                                  .policy = with_leases(thousand_an_hour_any_burst(), length),
                                  .callers = 1024,
                                  .keys = server_keys,
                                  .drawn = popularity::zipf};
    auto m = run_in_processes(
        processes,
        [&](unsigned process, const std::function<void()>& begin) {
            auto asking = callers{loop, std::uint64_t{process} * loop.callers};
            asking.call(c.warm_up / processes);
            const auto before = asking.checks();
            const auto leased = asking.statistics().count(decision_source::lease);
            asking.call_for(c.seconds, begin);
            asking.must_not_be_refused();
            const auto checks = asking.checks() - before;
            return process_counts{.checks = checks,
                                  .allowed = checks,
                                  .leased =
                                      asking.statistics().count(decision_source::lease) - leased};
        },
        c);
    m.allowed_share.reset(); // a denial ends the run
    return m;
}

measurement redis_below_limit(const conditions& c, std::chrono::milliseconds length) {
    server{c.socket}.forget_keys();
    constexpr auto per_s = steady_load::limit_per_s;
    const auto p = with_leases(policy{"bench", gcra(per_s, 1s).burst(10 * per_s)}, length);
    use_up(c, p);
    return run_in_processes(
        processes,
        [&](unsigned process, const std::function<void()>& begin) {
            return steady_load{c, p, process}.run(begin);
        },
        c);
}

} // namespace colimit::benchmark

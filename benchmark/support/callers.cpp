// SPDX-License-Identifier: BSL-1.0
//
// A run ends by stopping the context, which changes nothing else.

#include <support/callers.hpp>
#include <support/time_limit.hpp>

#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace colimit::benchmark {

namespace asio = boost::asio;
using std::chrono::steady_clock;

callers::callers(const closed_loop& loop, std::uint64_t first_seed)
    : loop_(loop), first_seed_(first_seed), limiter_(context_.get_executor(), loop.settings) {
    if (loop_.drawn == popularity::zipf)
        drawn_.emplace(loop_.keys, first_seed);
}

asio::awaitable<void> callers::call_again_and_again(std::uint64_t seed) {
    auto keys = drawn_ ? random_key{*drawn_} : random_key{loop_.keys, seed};
    auto ids = random_key{9'000'000, seed};
    auto until_timed = static_cast<std::uint32_t>(seed % loop_.time_one_in);
    while (!ending_) {
        const auto timed = until_timed == 0;
        until_timed = timed ? loop_.time_one_in - 1 : until_timed - 1;
        const auto begin = timed ? steady_clock::now() : steady_clock::time_point{};
        auto options = check_options{};
        if (loop_.has_ids)
            options.request = ids.text_of(ids.next_number());
        const auto d = co_await limiter_.allow(keys.next(), loop_.policy, options);
        if (timed)
            latencies.add(steady_clock::now() - begin);
        refused_ += d.allowed() ? 0U : 1U;
        if (++checks_ == stop_at_)
            context_.stop();
    }
}

void callers::start() {
    for (; at_work_ < loop_.callers; ++at_work_)
        asio::co_spawn(context_, call_again_and_again(first_seed_ + at_work_),
                       [this](const std::exception_ptr& failure) {
                           if (failure)
                               failure_ = failure;
                           if (--at_work_ == 0 || failure)
                               context_.stop();
                       });
}

void callers::run() {
    context_.restart();
    context_.run();
    if (failure_)
        std::rethrow_exception(failure_);
}

void callers::call(std::uint64_t checks) {
    start();
    stop_at_ = checks_ + checks;
    run();
}

void callers::call_for(double seconds, const std::function<void()>& begin) {
    start();
    stop_at_ = 0;
    const auto limit = time_limit{context_, seconds};
    begin();
    run();
}

void callers::end() {
    stop_at_ = 0;
    ending_ = true;
    run();
    ending_ = false;
}

asio::awaitable<void> callers::reset_each_key() {
    auto keys = random_key{loop_.keys, 0};
    for (auto i = std::uint32_t{0}; i < loop_.keys; ++i)
        co_await limiter_.reset(keys.text_of(i), loop_.policy);
}

void callers::reset_keys() {
    asio::co_spawn(context_, reset_each_key(), [this](const std::exception_ptr& failure) {
        failure_ = failure;
        context_.stop();
    });
    run();
}

void callers::ask_about(const policy& p) {
    loop_.policy = p;
}

void callers::must_not_be_refused() const {
    if (refused_ != 0)
        throw std::runtime_error{std::to_string(refused_) + " of " + std::to_string(checks_) +
                                 " checks were refused"};
}

} // namespace colimit::benchmark

// SPDX-License-Identifier: BSL-1.0
//
// All callers on one thread. The clock ends the loop by itself, so that no timer competes with it.

#include <tool/frame/command.hpp>
#include <tool/frame/many_callers.hpp>
#include <tool/frame/server_options.hpp>
#include <tool/load/run.hpp>
#include <tool/server/servers.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tool::load {

namespace {

namespace asio = boost::asio;
using std::chrono::duration;
using std::chrono::steady_clock;

constexpr double warm_up_share = 0.1;

/// Returns the number of `name:1.5` in a text of INFO.
double number_of(const std::string& info, std::string_view name) {
    const auto at = info.find(std::string{name} + ':');
    if (at == std::string::npos)
        throw std::runtime_error{"INFO has no " + std::string{name}};
    return std::strtod(info.c_str() + at + name.size() + 1, nullptr);
}

/// Returns the processor time of all servers with keys, according to INFO, on connections that are
/// closed while the load runs; nullopt for `memory:`, or if a server does not tell, such as one
/// that denies INFO to the user.
/// @throws interrupted
std::optional<double> server_seconds(const colimit::config& settings) {
    if (is_in_memory(settings.server))
        return std::nullopt;
    try {
        servers all{settings};
        double sum = 0;
        for (std::size_t i = 0; i < all.count(); ++i) {
            const auto info = all.ask_one(i, {"INFO", "cpu"}).text;
            sum += number_of(info, "used_cpu_user") + number_of(info, "used_cpu_sys");
        }
        return sum;
    } catch (const std::exception&) {
        // The load itself does not depend on it, and notices a signal, too, before it removes its
        // keys.
        return std::nullopt;
    }
}

class generator {
  public:
    explicit generator(const plan& p) : plan_(p), callers_(p.settings), is_used_(p.keys) {}

    result make() {
        callers_.connect(plan_.settings.timeout);
        const auto warm_up = plan_.seconds * warm_up_share;
        const auto failure = call_for(warm_up);
        begin_counting();
        const auto counted_failure = failure ? failure : call_for(plan_.seconds);
        end_counting();
        remove_keys();
        if (counted_failure)
            callers_.rethrow(counted_failure);
        result_.signal = callers_.signal();
        if (result_.checks == 0)
            throw interrupted{result_.signal,
                              "interrupted by signal " + std::to_string(result_.signal) +
                                  " during the warm-up: nothing was measured" +
                                  (result_.keys_are_left ? ", and some keys are left" : "")};
        return result_;
    }

  private:
    std::exception_ptr call_for(double seconds) {
        begin_ = steady_clock::now();
        end_ = begin_ + std::chrono::duration_cast<steady_clock::duration>(
                            std::chrono::duration<double>{seconds});
        return callers_.run(plan_.callers, [this] { return call_again_and_again(); });
    }

    void begin_counting() {
        result_ = {};
        before_ = callers_.limiter().statistics();
        server_before_ = server_seconds(plan_.settings);
    }

    void end_counting() {
        result_.seconds = duration<double>{steady_clock::now() - begin_}.count();
        const auto now = callers_.limiter().statistics();
        result_.batches = now.batches - before_.batches;
        result_.batch_keys = now.batch_keys - before_.batch_keys;
        result_.module_checks = now.module_calls - before_.module_calls;
        if (const auto used = server_seconds(plan_.settings); used && server_before_)
            result_.server_us = (*used - *server_before_) * 1e6;
    }

    /// Makes calls until the time is over, but at least one: if there are many callers, the time
    /// may be over before all of them have begun.
    asio::awaitable<void> call_again_and_again() {
        auto now = steady_clock::now();
        for (auto is_first = true;
             (is_first || now < end_) && callers_.signal() == 0 && !callers_.has_failed();
             is_first = false) {
            const auto number = any_key_(random_);
            is_used_[number] = true;
            const auto key = std::to_string(number);
            const auto d = co_await callers_.limiter().allow(key, plan_.policy);
            const auto end = steady_clock::now();
            result_.latencies.add(end - now);
            ++result_.checks;
            result_.denied += d.allowed() ? 0U : 1U;
            now = end;
        }
    }

    void remove_keys() {
        result_.keys_are_left = callers_.run(std::min(plan_.callers, plan_.keys),
                                             [this] { return reset_some(); }) != nullptr;
    }

    asio::awaitable<void> reset_some() {
        while (next_ < is_used_.size() && !callers_.has_failed()) {
            const auto number = next_++;
            if (!is_used_[number])
                continue;
            const auto key = std::to_string(number);
            co_await callers_.limiter().reset(key, plan_.policy);
        }
    }

    const plan& plan_;
    many_callers callers_;
    std::mt19937_64 random_{1}; // NOLINT: the same keys each time
    std::uniform_int_distribution<std::size_t> any_key_{0, plan_.keys - 1};
    std::vector<bool> is_used_;
    std::size_t next_ = 0;
    steady_clock::time_point begin_;
    steady_clock::time_point end_;
    colimit::statistics before_;
    std::optional<double> server_before_;
    result result_;
};

} // namespace

result run(const plan& p) {
    return generator{p}.make();
}

} // namespace tool::load

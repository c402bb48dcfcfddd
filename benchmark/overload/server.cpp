// SPDX-License-Identifier: BSL-1.0
//
// As requests are served in order, the worker that is free first takes the next one; so its end is
// known when it arrives.

#include <overload/server.hpp>
#include <tool/frame/format.hpp>

#include <algorithm>
#include <functional>
#include <queue>
#include <random>
#include <utility>

namespace colimit::benchmark::overload {
namespace {

using namespace std::chrono_literals;
using time = std::chrono::steady_clock::time_point;

constexpr time start{1h};

/// Exponential random times, without functions of the mathematical library, whose last digits may
/// differ from one system to another.
class random_times {
  public:
    explicit random_times(std::uint64_t seed) : engine_(seed) {}

    [[nodiscard]] nanoseconds next(nanoseconds mean) {
        return nanoseconds{
            static_cast<std::int64_t>(static_cast<double>(mean.count()) * exponential())};
    }

  private:
    /// Returns an exponential random number with mean 1, by von Neumann's comparison of uniform
    /// ones ("Various techniques used in connection with random digits", 1951).
    double exponential() {
        for (int whole = 0;; ++whole) {
            const auto first = uniform();
            auto last = first;
            auto is_odd = true;
            auto next = uniform();
            while (next < last) {
                last = next;
                next = uniform();
                is_odd = !is_odd;
            }
            if (is_odd)
                return whole + first;
        }
    }

    double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

    std::mt19937_64 engine_;
};

struct request {
    time arrival;
    time end;
    adaptive_limit::permit permit; ///< empty without a limit
};

struct ends_later {
    bool operator()(const request& a, const request& b) const noexcept { return a.end > b.end; }
};

class server {
  public:
    server(const scenario& all, adaptive_limit* limit)
        : all_(all), limit_(limit), arrivals_(all.seed), services_(~all.seed) {
        for (std::size_t i = 0; i < all.workers; ++i)
            free_at_.push(start);
        seconds_.resize(static_cast<std::size_t>(all.length().count()));
    }

    std::vector<second> run() {
        auto begin = start;
        for (const auto& p : all_.phases) {
            const auto end = begin + p.length;
            const nanoseconds gap{static_cast<std::int64_t>(1e9 / (p.load * all_.capacity()))};
            for (auto now = begin + arrivals_.next(gap); now < end; now += arrivals_.next(gap))
                arrive(now);
            begin = end;
        }
        finish_until(time::max());
        return std::move(seconds_);
    }

  private:
    void arrive(time now) {
        finish_until(now);
        auto& at = second_of(now);
        request r{.arrival = now, .end = {}, .permit = {}};
        if (limit_ != nullptr) {
            at.limit = limit_->limit();
            r.permit = limit_->try_acquire(now);
            if (!r.permit) {
                ++at.requests.denied;
                return;
            }
        }
        const auto begin = std::max(now, free_at_.top());
        r.end = begin + service_from(begin);
        free_at_.pop();
        free_at_.push(r.end);
        inside_.push_back(std::move(r));
        std::ranges::push_heap(inside_, ends_later{});
        at.most_inside = std::max(at.most_inside, inside_.size());
    }

    /// Returns the time that a worker needs for a request; half of it is the same for all.
    [[nodiscard]] nanoseconds service_from(time begin) {
        const auto usual = all_.service / 2 + services_.next(all_.service / 2);
        auto until = start;
        auto slow_down = 1.0; // after the last phase
        for (const auto& p : all_.phases) {
            until += p.length;
            if (begin < until) {
                slow_down = p.slow_down;
                break;
            }
        }
        return nanoseconds{
            static_cast<std::int64_t>(static_cast<double>(usual.count()) * slow_down)};
    }

    void finish_until(time now) {
        while (!inside_.empty() && inside_.front().end <= now) {
            std::ranges::pop_heap(inside_, ends_later{});
            auto& r = inside_.back();
            auto& arrived = second_of(r.arrival).requests;
            ++(r.end - r.arrival <= all_.patience ? arrived.in_time : arrived.late);
            r.permit.succeeded(r.end);
            inside_.pop_back();
        }
    }

    [[nodiscard]] second& second_of(time when) {
        return seconds_[static_cast<std::size_t>((when - start) / 1s)];
    }

    const scenario& all_;
    adaptive_limit* limit_;
    random_times arrivals_; ///< the same ones with each limit
    random_times services_;
    std::priority_queue<time, std::vector<time>, std::greater<>> free_at_; ///< of each worker
    std::vector<request> inside_;                                          ///< a heap
    std::vector<second> seconds_;
};

} // namespace

double scenario::capacity() const noexcept {
    return static_cast<double>(workers) * 1e9 / static_cast<double>(service.count());
}

std::chrono::seconds scenario::length() const noexcept {
    std::chrono::seconds sum{};
    for (const auto& p : phases)
        sum += p.length;
    return sum;
}

scenario usual_scenario(std::uint64_t seed) {
    scenario all;
    all.seed = seed;
    all.phases = {{.name = "steady", .length = 60s, .load = 0.6},
                  {.name = "slow-down", .length = 40s, .load = 0.6, .slow_down = 3},
                  {.name = "recovery", .length = 80s, .load = 0.6},
                  {.name = "overload", .length = 40s, .load = 1.5},
                  {.name = "recovery", .length = 80s, .load = 0.6}};
    return all;
}

counts& counts::operator+=(const counts& other) noexcept {
    in_time += other.in_time;
    late += other.late;
    denied += other.denied;
    return *this;
}

std::pair<std::size_t, std::size_t> seconds_of(const scenario& all, std::size_t phase) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < phase; ++i)
        first += static_cast<std::size_t>(all.phases[i].length.count());
    return {first, first + static_cast<std::size_t>(all.phases[phase].length.count())};
}

std::string describe(const scenario& all) {
    const auto ms = [](nanoseconds time) { return std::to_string(time / 1ms) + " ms"; };
    return std::to_string(all.workers) + " workers, " + ms(all.service) +
           " per request: capacity " + tool::grouped(static_cast<std::size_t>(all.capacity())) +
           " per second. Clients give up after " + ms(all.patience) + ".";
}

counts record::of(const scenario& all, std::size_t phase) const {
    counts sum;
    const auto [first, last] = seconds_of(all, phase);
    for (auto i = first; i < last; ++i)
        sum += seconds[i].requests;
    return sum;
}

record serve(const scenario& all, std::string name, adaptive_limit* limit) {
    return {std::move(name), server{all, limit}.run()};
}

adaptive_options compared_options(const scenario& all, adaptive_algorithm algorithm) {
    adaptive_options options{.algorithm = algorithm};
    const auto workers = static_cast<std::int64_t>(all.workers);
    options.gradient2.initial_limit = workers;
    options.gradient2.max_limit = 1'000'000;
    options.brpc.initial_limit = workers;
    options.brpc.seed = all.seed;
    return options;
}

std::vector<record> compare(const scenario& all) {
    std::vector<record> records{serve(all, "no limit", nullptr)};
    using enum adaptive_algorithm;
    for (const auto algorithm : {gradient2, brpc}) {
        adaptive_limit limit{compared_options(all, algorithm)};
        records.push_back(serve(all, std::string{to_string(algorithm)}, &limit));
    }
    return records;
}

double possible(const scenario& all, std::size_t phase, const counts& requests) {
    const auto& p = all.phases[phase];
    const auto served = all.capacity() / p.slow_down * static_cast<double>(p.length.count());
    return std::min(static_cast<double>(requests.all()), served);
}

} // namespace colimit::benchmark::overload

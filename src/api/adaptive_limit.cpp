// SPDX-License-Identifier: BSL-1.0
//
// The adaptive limit: counts calls in flight, and gives those that have ended to the algorithm.

#include <adaptive/brpc.hpp>
#include <adaptive/gradient2.hpp>
#include <adaptive/options_check.hpp>
#include <base/enumerator.hpp>
#include <colimit/adaptive_limit.hpp>
#include <colimit/error.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <variant>

namespace colimit {
namespace {

using algorithm_state = std::variant<adaptive::gradient2, adaptive::brpc>;

[[nodiscard]] std::uint64_t seed_of(const brpc_options& options) {
    return options.seed != 0 ? options.seed : std::random_device{}() | 1U;
}

[[nodiscard]] algorithm_state make_algorithm(const adaptive_options& options) {
    adaptive::check(options);
    if (options.algorithm == adaptive_algorithm::brpc)
        return adaptive::brpc{options.brpc, seed_of(options.brpc)};
    return adaptive::gradient2{options.gradient2};
}

[[nodiscard]] std::int64_t limit_of(const algorithm_state& state) noexcept {
    return std::visit([](const auto& algorithm) { return algorithm.limit(); }, state);
}

} // namespace

/// The limit itself, which its permits share. The counts guard no other memory, so they are
/// relaxed.
struct detail::adaptive_state {
    explicit adaptive_state(const adaptive_options& options)
        : algorithm(make_algorithm(options)), limit(limit_of(algorithm)) {}

    void add(const adaptive::sample& s) noexcept {
        const std::lock_guard lock{mutex};
        std::visit([&](auto& chosen) { chosen.add(s); }, algorithm);
        limit.store(limit_of(algorithm), std::memory_order_relaxed);
    }

    std::mutex mutex;
    algorithm_state algorithm; ///< guarded by the mutex
    std::atomic<std::int64_t> limit;
    std::atomic<std::int64_t> in_flight = 0;
};

std::string_view to_string(adaptive_algorithm a) noexcept {
    return name_of(a, {"gradient2", "brpc"});
}

adaptive_algorithm parse_adaptive_algorithm(std::string_view name) {
    using enum adaptive_algorithm;
    for (const auto algorithm : {gradient2, brpc})
        if (name == to_string(algorithm))
            return algorithm;
    throw error{errc::invalid_argument, "adaptive algorithm: unknown name (got '" +
                                            std::string{name} + "', expected gradient2 or brpc)"};
}

adaptive_limit::permit::permit(std::shared_ptr<detail::adaptive_state> state, time_point start,
                               std::int64_t in_flight) noexcept
    : state_(std::move(state)), start_(start), in_flight_(in_flight),
      exceptions_(std::uncaught_exceptions()) {}

adaptive_limit::permit::~permit() {
    if (!state_)
        return;
    if (std::uncaught_exceptions() > exceptions_)
        ignored();
    else
        succeeded();
}

adaptive_limit::permit& adaptive_limit::permit::operator=(permit&& other) noexcept {
    const permit previous{std::move(*this)};
    state_ = std::move(other.state_);
    start_ = other.start_;
    in_flight_ = other.in_flight_;
    exceptions_ = other.exceptions_;
    return *this;
}

void adaptive_limit::permit::report(time_point now, bool has_failed) noexcept {
    if (!state_)
        return;
    state_->in_flight.fetch_sub(1, std::memory_order_relaxed);
    state_->add(adaptive::make_sample(start_.time_since_epoch(), now.time_since_epoch(), in_flight_,
                                      has_failed));
    state_.reset();
}

void adaptive_limit::permit::succeeded(time_point now) noexcept {
    report(now, false);
}

void adaptive_limit::permit::dropped(time_point now) noexcept {
    report(now, true);
}

void adaptive_limit::permit::ignored() noexcept {
    if (state_)
        state_->in_flight.fetch_sub(1, std::memory_order_relaxed);
    state_.reset();
}

adaptive_limit::adaptive_limit(const adaptive_options& options)
    : state_(std::make_shared<detail::adaptive_state>(options)) {}

adaptive_limit::~adaptive_limit() = default;

adaptive_limit::permit adaptive_limit::try_acquire(time_point now) noexcept {
    auto others = state_->in_flight.load(std::memory_order_relaxed);
    do {
        if (others >= limit())
            return {};
    } while (
        !state_->in_flight.compare_exchange_weak(others, others + 1, std::memory_order_relaxed));
    return {state_, now, others + 1};
}

std::int64_t adaptive_limit::limit() const noexcept {
    return state_->limit.load(std::memory_order_relaxed);
}

std::int64_t adaptive_limit::in_flight() const noexcept {
    return state_->in_flight.load(std::memory_order_relaxed);
}

} // namespace colimit

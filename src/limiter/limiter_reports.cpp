// SPDX-License-Identifier: BSL-1.0
//
// What a limiter says about itself: statistics, the last problem, its health.

#include <limiter/limiter_core.hpp>

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

namespace colimit::detail {

colimit::statistics limiter_core::statistics() const {
    const std::lock_guard guard{lock_};
    auto all = counter_.counted();
    backend_->add_statistics(all);
    if (leases_)
        leases_->add_statistics(all);
    slots_.add_statistics(all);
    all.cached_denials = denials_ ? denials_->size() : 0;
    return all;
}

std::vector<policy_statistics> limiter_core::policy_statistics() const {
    const std::lock_guard guard{lock_};
    return observer_ ? observer_->counted() : std::vector<colimit::policy_statistics>{};
}

std::optional<problem> limiter_core::last_error() const {
    const std::lock_guard guard{lock_};
    return backend_->last_problem();
}

/// A handler may call this before the function that changed the state has recorded it.
colimit::health limiter_core::health() {
    const std::lock_guard guard{lock_};
    track_state();
    return {.state = state_, .since = state_since_, .last_problem = backend_->last_problem()};
}

void limiter_core::track_state() noexcept {
    const auto now = is_closed_ ? health_state::closed : backend_->state();
    if (now == state_)
        return;
    state_ = now;
    state_since_ = std::chrono::system_clock::now();
}

} // namespace colimit::detail

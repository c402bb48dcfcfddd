// SPDX-License-Identifier: BSL-1.0
//
// What a limiter reports of itself: counters, the last problem, and its state.

#include <limiter/engine.hpp>

#include <mutex>

namespace colimit::detail {

colimit::statistics engine::statistics() const {
    const std::lock_guard guard{lock_};
    auto all = counted_;
    report(all);
    return all;
}

std::optional<problem> engine::last_error() const {
    const std::lock_guard guard{lock_};
    return find_problem();
}

/// A handler may ask before the function that changed the state has recorded it.
colimit::health engine::health() {
    const std::lock_guard guard{lock_};
    track_state();
    return {.state = state_, .since = state_since_, .last_problem = find_problem()};
}

void engine::track_state() noexcept {
    const auto now = closed_ ? health_state::closed : find_state();
    if (now == state_)
        return;
    state_ = now;
    state_since_ = std::chrono::system_clock::now();
}

} // namespace colimit::detail

// SPDX-License-Identifier: BSL-1.0
//
// The transitions of retries.

#include <redis/cluster/retry_pauses.hpp>

#include <algorithm>
#include <iterator>

namespace colimit::redis {
namespace {

/// After this number of the longest pauses without a rejection, nothing is known any more.
constexpr std::int64_t pauses_remembered = 40;

} // namespace

/// Waits between half and all of the current pause; the next one is twice as long.
void retry_pauses::begin_pause(state& s, std::int64_t now) {
    s.pause = std::clamp(2 * s.pause, settings_.pause_least, settings_.pause_most);
    auto jitter = std::uniform_int_distribution<std::int64_t>{s.pause - s.pause / 2, s.pause};
    s.ends_at = now + jitter(random_);
}

void retry_pauses::reject(subject of, std::int64_t now, bool counts) {
    auto& s = states_[of];
    s.rejected_at = now;
    if (now < s.ends_at)
        return;
    begin_pause(s, now);
    if (!counts || s.is_open || ++s.misses < settings_.misses)
        return;
    s.is_open = true;
    ++open_;
    ++open_count_;
}

retry_pauses::states::iterator retry_pauses::forget(states::iterator which) noexcept {
    open_ -= which->second.is_open ? 1U : 0U;
    return states_.erase(which);
}

void retry_pauses::serve(subject of, bool was_rejected) noexcept {
    if (const auto at = states_.find(of);
        at != states_.end() && (was_rejected || at->second.misses != 0))
        forget(at);
}

void retry_pauses::drop(subject of) noexcept {
    if (const auto at = states_.find(of); at != states_.end())
        forget(at);
}

void retry_pauses::hurry(subject of, std::int64_t now) noexcept {
    if (const auto at = states_.find(of); at != states_.end() && at->second.misses == 0)
        at->second.ends_at = std::min(at->second.ends_at, now);
}

void retry_pauses::hurry_all(std::int64_t now) noexcept {
    for (auto at = states_.begin(); at != states_.end();) {
        auto& s = at->second;
        s.ends_at = std::min(s.ends_at, now);
        const auto is_old = now - s.rejected_at > pauses_remembered * settings_.pause_most;
        at = is_old ? forget(at) : std::next(at);
    }
}

bool retry_pauses::try_refuse(subject of, std::int64_t now) {
    const auto at = states_.find(of);
    if (at == states_.end() || !at->second.is_open)
        return false;
    if (now < at->second.ends_at)
        return true;
    begin_pause(at->second, now);
    return false;
}

bool retry_pauses::is_open(subject of) const noexcept {
    const auto at = states_.find(of);
    return at != states_.end() && at->second.is_open;
}

bool retry_pauses::is_pausing(subject of, std::int64_t now) const noexcept {
    const auto at = states_.find(of);
    return at != states_.end() && now < at->second.ends_at;
}

std::int64_t retry_pauses::next_end(std::int64_t now) const noexcept {
    auto next = never;
    for (const auto& [of, s] : states_)
        if (s.ends_at > now)
            next = std::min(next, s.ends_at);
    return next;
}

} // namespace colimit::redis

// SPDX-License-Identifier: BSL-1.0
//
// The transitions of a breaker.

#include <redis/breaker.hpp>

#include <algorithm>

namespace colimit::redis {

breaker::breaker(breaker_settings settings)
    : settings_(settings), pause_(settings.pause_least), random_(settings.seed) {}

std::optional<std::int64_t> breaker::probe_at() const noexcept {
    if (!is_open_ || is_probing())
        return std::nullopt;
    return due_;
}

void breaker::miss(std::int64_t now) {
    if (is_open_ || ++misses_ < settings_.misses)
        return;
    is_open_ = true;
    ++openings_;
    good_ = 0;
    pause(now);
}

void breaker::hit() noexcept {
    if (is_open_)
        return;
    misses_ = 0;
    pause_ = settings_.pause_least;
}

void breaker::heard(std::int64_t now) noexcept {
    due_ = std::min(due_, now);
}

void breaker::end_probe(bool served, std::int64_t now) {
    const auto began = probed_at_.value_or(now);
    probed_at_.reset();
    if (!is_open_)
        return;
    if (!served) {
        good_ = 0;
        return pause(now);
    }
    good_ = now - began <= settings_.patience ? good_ + 1 : 0;
    due_ = now; // also after a late one: the server is there, and the next may be in time
    if (good_ >= settings_.probes)
        close();
}

void breaker::close() noexcept {
    is_open_ = false;
    misses_ = good_ = 0;
}

/// Between half and all of the present pause; the next one is twice as long.
void breaker::pause(std::int64_t now) {
    auto jitter = std::uniform_int_distribution<std::int64_t>{pause_ - pause_ / 2, pause_};
    due_ = now + jitter(random_);
    pause_ = std::min(2 * pause_, settings_.pause_most);
}

} // namespace colimit::redis
